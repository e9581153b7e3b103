from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon.views import model
from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.job.tracking.model import (
    AccountingStatus,
    End,
    EndInquiry,
    Source,
    StateChange,
    Task,
    WatchedJob,
)
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import JobRow
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.lifecycle.health import Health, JobStatus

NEW = WatchedJob("slurm-12-x", 12, 1000.0, backend="slurm")
OWED = OutboxEntry(Message("m", Route.ERROR, Tone.FAILURE, "it failed"))


def end(state: JobState, outcome: Outcome, exit_code: int | None = None, signal: int | None = None) -> End:
    return End(state, state.value, outcome, Source.QUEUE, exit_code=exit_code, signal=signal)


SUCCESS = end(JobState.COMPLETED, Outcome.SUCCESS, 0)
FAILURE = end(JobState.FAILED, Outcome.FAILURE, 5)


def task(
    key: str, ended: End | None = None, word: str = "RUNNING", diagnosis: Diagnosis | None = None
) -> Task:
    return Task(key, JobState.RUNNING, word, end=ended, diagnosis=diagnosis)


def job(*tasks: Task, waiting: str = "") -> WatchedJob:
    return replace(NEW, tasks={each.key: each for each in tasks}, pending_indices=waiting)


@pytest.mark.parametrize(
    ("watched", "words"),
    [
        (NEW, "UNKNOWN"),
        (job(task("")), "RUNNING"),
        (job(task("", SUCCESS)), "COMPLETED"),
        (job(waiting="1-3"), "PENDING"),
        (job(task("1"), task("2")), "RUNNING"),
        (job(task("1"), task("2", FAILURE), waiting="3-9%2"), "FAILED:1 RUNNING:1 PENDING:7"),
        (job(task("1", word="PENDING"), waiting="2"), "PENDING"),
        (job(task("", word="A_STATE_OF_TOMORROW")), "A_STATE_OF_TOMORROW"),
    ],
)
def test_the_state_is_slurms_word_or_a_count_of_words(watched: WatchedJob, words: str) -> None:
    assert model.state(watched) == words


@pytest.mark.parametrize(
    ("ended", "diagnosis", "words"),
    [
        (None, None, ""),
        (SUCCESS, Diagnosis("oom", "Out of memory", "", ""), ""),
        (FAILURE, Diagnosis("oom", "Out of memory", "", ""), "Out of memory"),
        (FAILURE, Diagnosis(None, "", "", ""), "exit code 5"),
        (end(JobState.FAILED, Outcome.FAILURE, 0, 9), None, "killed by signal 9"),
        (replace(end(JobState.UNKNOWN, Outcome.UNKNOWN), why="nobody knows"), None, "nobody knows"),
    ],
)
def test_the_cause_is_the_best_that_is_known(
    ended: End | None, diagnosis: Diagnosis | None, words: str
) -> None:
    cause = model.cause(job(task("", ended, diagnosis=diagnosis)))
    assert cause.startswith(words)
    assert bool(cause) == bool(words)


def test_the_part_that_failed_stands_for_the_whole() -> None:
    whole = job(task("1", SUCCESS), task("2", FAILURE), task("3", SUCCESS))
    assert whole.outcome is Outcome.FAILURE
    assert model.status_json(JobStatus(whole, Health.DONE), 1100.0)["exit_code"] == 5


def test_json_has_the_documented_keys_whatever_is_known() -> None:
    for watched in (NEW, job(task("")), job(task("", FAILURE))):
        shown = model.status_json(JobStatus(watched, Health.ALIVE), 1100.0)
        assert {"job_id", "name", "state", "outcome", "exit_code", "signal", "cause", "monitor"} <= set(shown)
        assert (shown["job_id"], shown["undelivered"], shown["monitor"]) == ("12", 0, "alive")
    assert model.status_json(JobStatus(NEW, Health.ALIVE), 1100.0)["outcome"] is None


def test_a_message_that_was_given_up_counts_as_undelivered() -> None:
    watched = replace(NEW, outbox=(OWED, replace(OWED, given_up="404"), replace(OWED, delivered_s=1.0)))
    assert model.status_json(JobStatus(watched, Health.ALIVE), 1100.0)["undelivered"] == 2


@pytest.mark.parametrize(
    ("started_s", "limit_s", "words"),
    [(1000, 7200, "1m 40s/2h"), (1000, None, "1m 40s/?"), (None, 7200, "?/2h"), (5000, None, "?/?")],
)
def test_the_time_is_what_ran_of_what_is_allowed(
    started_s: int | None, limit_s: int | None, words: str
) -> None:
    running = replace(task(""), start_s=started_s, limit_s=limit_s)
    assert model.elapsed(job(running), 1100.0) == words


def test_an_expected_start_is_not_a_run() -> None:
    pending = replace(task("", word="PENDING"), state=JobState.PENDING, start_s=1000, limit_s=7200)
    assert model.elapsed(job(pending), 1100.0) == "-/2h"
    assert model.elapsed(job(waiting="1-9"), 1100.0) == "-/?"
    never_started = end(JobState.CANCELLED, Outcome.CANCELLED)
    assert model.elapsed(job(replace(pending, end=never_started)), 1100.0) == "-/2h"


def test_a_job_that_slurm_lists_as_running_without_a_limit_is_unlimited() -> None:
    pending = replace(
        task("", word="PENDING"), state=JobState.PENDING, history=(StateChange("PENDING", 9.0),)
    )
    assert model.elapsed(job(pending), 1100.0) == "-/?"
    running = replace(task(""), start_s=1000, history=(*pending.history, StateChange("RUNNING", 1000.0)))
    assert model.elapsed(job(running), 1100.0) == "1m 40s/unlimited"


def test_the_limit_of_a_job_that_only_accounting_knows_is_shown() -> None:
    found = task("", replace(SUCCESS, started_s=1000, ended_s=1010, limit_s=60))
    assert model.elapsed(job(found), 1100.0) == "10s/1m"


def test_the_run_time_of_a_job_no_longer_watched_is_not_known() -> None:
    running = replace(task(""), start_s=1000, limit_s=60)
    assert model.elapsed(replace(job(running), unwatched_s=1050.0), 9999.0) == "?/1m"


def test_the_time_of_an_array_is_that_of_the_task_that_has_been_running_longest() -> None:
    ended = replace(task("1", replace(SUCCESS, started_s=900, ended_s=1000)), start_s=900, limit_s=300)
    older = replace(task("2"), start_s=1040, limit_s=300)
    younger = replace(task("3"), start_s=1060, limit_s=300)
    pending = replace(task("4", word="PENDING"), state=JobState.PENDING, limit_s=300)
    assert model.elapsed(job(pending, ended, younger, older), 1100.0) == "1m/5m"
    assert model.elapsed(job(pending, ended), 1100.0) == "1m 40s/5m"


def test_a_job_that_waits_for_its_outcome_has_the_state_and_the_times_of_its_end() -> None:
    row = JobRow(JobRef(12), JobState.CANCELLED, "CANCELLED by 0", start_s=1000, end_s=1030)
    seen = replace(task(""), start_s=1000, limit_s=60, inquiry=EndInquiry(1040.0, 1040.0, row=row))
    gone = replace(seen, inquiry=EndInquiry(1040.0, 1040.0))
    assert (model.state(job(seen)), model.elapsed(job(seen), 1100.0)) == ("CANCELLED", "30s/1m")
    assert (model.state(job(gone)), model.elapsed(job(gone), 1100.0)) == ("RUNNING", "?/1m")
    both = [replace(seen, key="1"), replace(seen, key="2")]
    assert model.elapsed(job(*both), 1100.0) == "30s/1m"


def test_the_run_time_of_a_job_that_runs_is_a_number_for_programs() -> None:
    running = replace(task(""), start_s=1000)

    def shown(watched: WatchedJob) -> object:
        return model.status_json(JobStatus(watched, Health.ALIVE), 1100.9)["elapsed_s"]

    assert shown(job(running)) == 100
    assert shown(job(replace(running, end=replace(SUCCESS, started_s=1000, ended_s=1010)))) == 10
    assert shown(replace(job(running), unwatched_s=1050.0)) is None
    assert shown(NEW) is None


def test_the_short_states_of_an_array_name_failures_first() -> None:
    cancelled = end(JobState.CANCELLED, Outcome.CANCELLED)
    tasks = (task("1", SUCCESS), task("2"), task("3", FAILURE), task("4", cancelled))
    assert model.short_state(job(*tasks)) == "F:1 CA:1 R:1 CD:1"


def test_a_moment_of_another_day_has_its_date() -> None:
    assert len(model.clock(1_700_000_000, 1_700_000_060)) == len("12:34")
    assert model.clock(1_700_000_000, 1_800_000_000).startswith("2023-11-")


def test_stale_since_is_told_while_it_is_so_and_the_job_is_followed() -> None:
    silent = replace(job(task("")), answered_s=10.0, stale_since_s=20.0)
    shown = [
        model.status_json(JobStatus(each, Health.ALIVE), 1100.0)["stale_since"]
        for each in (silent, job(task("")))
    ]
    assert shown == [20.0, None]
    told = replace(silent, concluded_s=30.0)
    assert model.status_json(JobStatus(told, Health.DONE), 1100.0)["stale_since"] is None


def test_accounting_that_an_end_waits_for_in_vain_makes_it_stale() -> None:
    inquiry = EndInquiry(40.0, 40.0, accounting=AccountingStatus.UNREACHABLE)
    waits = job(replace(task(""), inquiry=inquiry))
    assert model.status_json(JobStatus(waits, Health.ALIVE), 1100.0)["stale_since"] == 40.0
