"""Which accounting rows count, and when accounting is queried again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobmon_core.domain.slurm.log_paths import BY_SLURM, BY_USER, LogPaths
from jobmon_core.domain.slurm.states import Outcome
from tests.support.play import START_S, Play, record, row, sacct_row


def test_lagging_accounting_is_queried_again_with_growing_waits() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record()
    waits = []
    for _ in range(5):
        before = play.now_s
        while not play.asks_accounting():
            play.later(1)
        waits.append(play.now_s - before)
        play.accounting(sacct_row("12", "RUNNING"))
    assert not play.job.ended
    assert waits == sorted(waits)
    assert waits[0] < waits[-1]


def test_accounting_names_the_logs_of_a_job_that_slurmctld_forgot() -> None:
    told = replace(sacct_row("12", "FAILED", 1), workdir="/w/50%j", stdout="slurm-%j.out")
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record().later(3).accounting(told)
    default = "/w/50%%j/slurm-%j.out"
    assert play.job.logs == LogPaths(default, default, BY_SLURM)


def test_accounting_does_not_replace_log_paths_that_are_known() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record().later(3)
    play.job = replace(play.job, logs=LogPaths("/mine", "/mine", BY_USER))
    play.accounting(replace(sacct_row("12", "FAILED", 1), stdout="/w/%j.out"))
    assert play.job.logs.stdout == "/mine"


def test_an_accounting_without_log_paths_changes_none() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record().later(3)
    assert play.accounting(sacct_row("12", "FAILED", 1)).job.logs == LogPaths()


def test_an_earlier_run_proves_nothing_about_the_current_one() -> None:
    play = Play().queue(row("12", "RUNNING", submit_s=1_000_050)).later(30).queue().record().later(3)
    play.accounting(sacct_row("12", "COMPLETED", submit_s=1_000_000))
    assert not play.job.ended


def test_disabled_accounting_is_not_queried_every_second() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record_down().later(3)
    assert play.asks_accounting()
    play.no_accounting()
    assert not play.later(1).asks_accounting()


_FOREIGN: dict[str, dict[str, Any]] = {
    "unreadable Submit": {"submit_s": None},
    "future Submit": {"submit_s": 1_086_400},
    "another User": {"user": "you"},
    "another name": {"name": "eval"},
    "another WorkDir": {"workdir": "/home/you"},
}


def _gone() -> Play:
    """Return a job that left the queue, whose record slurmctld has shown, but forgotten meanwhile."""
    known = replace(record("12", "RUNNING"), user="me")
    return Play().queue(row("12", "RUNNING")).record(known).later(30).queue().record().later(3)


@pytest.mark.parametrize("kind", _FOREIGN)
def test_a_damaged_row_or_one_of_another_job_proves_no_end(kind: str) -> None:
    play = _gone().accounting(replace(sacct_row("12", "COMPLETED"), **_FOREIGN[kind]))
    assert not play.job.ended
    assert (play.job.name, play.job.workdir) == ("train", "/w")
    told = replace(sacct_row("12", "FAILED", 3), user="me", name="train", workdir="/w")
    assert play.accounting(told).later(30).end().outcome is Outcome.FAILURE


@pytest.mark.parametrize(
    "fields",
    [
        {"user": "", "workdir": ""},  # hidden, or not recorded yet
        {"user": "nobody"},
        {"name": "allocation"},
        {"name": "train\nbehind the line break"},
        {"workdir": "/w/"},
    ],
)
def test_a_row_that_says_the_same_in_other_words_proves_the_end(fields: dict[str, Any]) -> None:
    told = replace(sacct_row("12", "COMPLETED"), user="me", name="train", workdir="/w")
    assert _gone().accounting(replace(told, **fields)).later(30).end().outcome is Outcome.SUCCESS


def test_a_row_counts_although_this_hosts_clock_was_set_back() -> None:
    play = _gone()
    play.now_s -= 7200
    play.accounting(sacct_row("12", "COMPLETED"))
    assert play.later(7300).end().outcome is Outcome.SUCCESS


def test_an_array_task_may_have_renamed_itself() -> None:
    play = Play().queue(row("12_1", "RUNNING")).record(record("12_1", "RUNNING")).later(30).queue().record()
    play.later(3).accounting(replace(sacct_row("12_1", "COMPLETED"), name="run 1")).later(30)
    assert play.job.outcome is Outcome.SUCCESS


def test_an_older_job_with_the_same_id_proves_nothing() -> None:
    play = Play()
    play.job = replace(play.job, not_before_s=START_S - 86_400)
    play.queue().record().later(3).accounting(sacct_row("12", "COMPLETED", submit_s=int(START_S) - 9_000_000))
    assert not play.job.ended
    play.later(10).accounting(sacct_row("12", "FAILED", 2))
    assert play.end().outcome is Outcome.FAILURE


def test_a_cancelled_array_row_without_indices_counts_for_its_pending_tasks() -> None:
    play = Play().queue(row("12_[1-3]", "PENDING")).later(30).queue(row("12_[1-3]", "CANCELLED"))
    play.record(record("12_[1-3]", "CANCELLED")).later(3).accounting(sacct_row("12", "CANCELLED by 7"))
    assert {play.end(key).cancelled_by for key in "123"} == {7}


def test_an_array_that_ended_before_the_watch_began_is_split_into_its_tasks() -> None:
    play = (
        Play()
        .queue()
        .record()
        .later(3)
        .accounting(sacct_row("12_1", "COMPLETED"), sacct_row("12_2", "FAILED", 1))
    )
    play.later(3).accounting(sacct_row("12_1", "COMPLETED"), sacct_row("12_2", "FAILED", 1))
    assert play.end("2").outcome is Outcome.FAILURE
    assert play.job.array_indices == "1-2"


def test_a_task_that_ended_before_the_watch_began_counts() -> None:
    play = Play().queue(row("12_2", "RUNNING")).later(30).queue(row("12_2", "COMPLETED"))
    play.record(record("12_2", "COMPLETED")).later(3)
    play.accounting(sacct_row("12_1", "FAILED", 7), sacct_row("12_2", "COMPLETED"))
    assert not play.job.outbox
    play.later(30).queue(row("12_2", "COMPLETED")).record(record("12_2", "COMPLETED")).later(3)
    play.accounting(sacct_row("12_1", "FAILED", 7), sacct_row("12_2", "COMPLETED"))
    assert play.job.outcome is Outcome.FAILURE
    assert play.end("1").exit_code == 7
