"""Which accounting rows count, and when accounting is queried again."""

from __future__ import annotations

from dataclasses import replace

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
