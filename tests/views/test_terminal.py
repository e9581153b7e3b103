from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon.views.terminal import details, status_table
from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry, Tone
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.domain.tracking.model import AccountingStatus, EndInquiry, StateChange, Task, WatchedJob
from jobmon_core.lifecycle.health import Health, JobStatus
from jobmon_core.store.owner import Owner

NOW_S = 1_700_000_000.0
RUNNING = Task("", JobState.RUNNING, "RUNNING")
JOB = WatchedJob("slurm-12-x", 12, NOW_S, name="train", answered_s=NOW_S, tasks={"": RUNNING})
OWNER = Owner("login2", "boot", 4711, 1)


def row(job: WatchedJob, health: Health = Health.ALIVE) -> str:
    return status_table([JobStatus(job, health, OWNER)], NOW_S + 60).splitlines()[-1]


@pytest.mark.parametrize(
    ("health", "words"),
    [
        (Health.ALIVE, "alive"),
        (Health.DEAD, "DEAD"),
        (Health.STALE, "stale (login2)"),
        (Health.REMOTE, "elsewhere (login2)"),
        (Health.DONE, "done"),
    ],
)
def test_the_health_of_the_monitor_stands_in_the_row(health: Health, words: str) -> None:
    assert words in row(JOB, health)


def test_a_silent_scheduler_makes_the_state_one_of_the_past() -> None:
    assert "RUNNING (as of " in row(replace(JOB, stale_since_s=NOW_S + 30))
    assert ", stale since " in row(replace(JOB, stale_since_s=NOW_S + 30))
    assert "(as of" not in row(JOB)
    unseen = replace(JOB, answered_s=None, tasks={})
    assert "submitted" in row(unseen)
    assert "unknown (the scheduler is not responding)" in row(replace(unseen, stale_since_s=NOW_S))


def test_accounting_that_is_waited_for_in_vain_makes_the_state_stale_too() -> None:
    inquiry = EndInquiry(
        NOW_S, NOW_S, accounting=AccountingStatus.UNREACHABLE, accounting_error="sacct: Connection refused"
    )
    waits = replace(JOB, tasks={"": replace(RUNNING, inquiry=inquiry)})
    assert "(sacct has not answered since " in row(waits)
    told = details(JobStatus(waits, Health.ALIVE, OWNER), "", NOW_S)
    assert "accounting (sacct) has not answered since" in told
    assert "sacct: Connection refused" in told


def test_a_closed_job_needs_no_scheduler() -> None:
    cancelled = replace(JOB, stale_since_s=NOW_S, unwatched_s=NOW_S)
    assert "not answered" not in details(JobStatus(cancelled, Health.DONE), "", NOW_S)


def test_a_dropped_job_is_said_to_be_watched_no_longer() -> None:
    assert "no longer watched" in row(replace(JOB, unwatched_s=NOW_S), Health.DONE)


def test_a_long_name_is_cut_and_no_name_breaks_the_table() -> None:
    assert "x" * 27 + "…" in row(replace(JOB, name="x" * 99))
    assert "a b  2J" in row(replace(JOB, name="a\nb\x1b\x07" + "2J"))


def test_a_moment_that_no_calendar_has_hides_no_job() -> None:
    odd = replace(JOB, answered_s=1e300, stale_since_s=1e300)
    seen = replace(RUNNING, history=(StateChange("RUNNING", float("inf")),))
    assert "as of ?" in row(odd)
    shown = details(JobStatus(replace(odd, tasks={"": seen}), Health.ALIVE, OWNER), "", NOW_S)
    assert "the scheduler has not answered since ?" in shown
    assert "? RUNNING" in shown


def test_numbers_in_names_stay_as_they_are() -> None:
    assert " 1e5 " in row(replace(JOB, name="1e5"))
    assert " 007 " in row(replace(JOB, name="007"))


def test_what_became_of_each_message_is_shown() -> None:
    entry = OutboxEntry(Message("m", Route.ERROR, Tone.FAILURE, "train failed"), attempts=2)
    outbox = (entry, replace(entry, given_up="the webhook is gone"), replace(entry, delivered_s=NOW_S))
    shown = details(JobStatus(replace(JOB, outbox=outbox), Health.ALIVE, OWNER), "", NOW_S)
    assert "train failed: not delivered yet, 2 attempts" in shown
    assert "train failed: GIVEN UP: the webhook is gone" in shown
    assert "train failed: delivered " in shown


def test_one_task_of_an_array_can_be_shown_alone() -> None:
    tasks = {key: replace(RUNNING, key=key) for key in ("1", "2")}
    shown = details(JobStatus(replace(JOB, tasks=tasks), Health.ALIVE, OWNER), "2", NOW_S)
    assert "12_2: RUNNING" in shown
    assert "12_1" not in shown


def test_nothing_watched_says_how_to_begin() -> None:
    assert "`jobmon submit SCRIPT`" in status_table([], NOW_S)
