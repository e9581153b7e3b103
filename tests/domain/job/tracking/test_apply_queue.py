"""States, history and watched tasks after squeue replies."""

from __future__ import annotations

import pytest

from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.play import Play, record, row, sacct_row


def test_an_unreachable_scheduler_ends_no_job() -> None:
    play = Play().queue(row("12", "RUNNING"))
    for _ in range(500):
        play.later(60).queue_down()
    assert not play.job.ended
    assert play.job.stale_since_s is not None
    assert play.job.tasks[""].state is JobState.RUNNING


def test_a_queue_reply_ends_the_staleness() -> None:
    play = Play().queue(row("12", "RUNNING")).later(60).queue_down().later(60).queue(row("12", "RUNNING"))
    assert play.job.stale_since_s is None


@pytest.mark.parametrize("state", ["SUSPENDED", "COMPLETING", "HIBERNATING"])
def test_a_suspended_completing_or_unknown_state_is_not_an_end(state: str) -> None:
    play = Play().queue(row("12", state)).later(9000).queue(row("12", state))
    assert not play.job.ended
    assert play.job.tasks[""].raw_state == state


def test_the_end_of_the_run_before_a_requeue_ends_nothing() -> None:
    play = Play().queue(row("12", "RUNNING", submit_s=1_000_050)).later(30)
    play.queue(row("12", "COMPLETED", submit_s=1_000_000)).record(record("12", "RUNNING")).later(60)
    assert not play.job.ended


def test_an_array_with_pending_tasks_has_not_ended() -> None:
    play = (
        Play().queue(row("12_[2]", "PENDING"), row("12_1", "COMPLETED")).record(record("12_1", "COMPLETED"))
    )
    play.later(3).accounting(sacct_row("12_1", "COMPLETED"))
    assert play.job.tasks["1"].end is not None
    assert not play.job.ended
    assert not play.job.outbox


def test_only_the_watched_task_of_an_array_counts() -> None:
    play = Play(watched_part="2").queue(row("12_[2-3]", "PENDING"), row("12_1", "RUNNING"))
    assert not play.job.ended
    play.later(30).queue(row("12_1", "FAILED"), row("12_2", "COMPLETED"))
    play.record(record("12_1", "FAILED"), record("12_2", "COMPLETED")).later(3).accounting(
        sacct_row("12_2", "COMPLETED")
    )
    assert play.job.outcome is Outcome.SUCCESS
    assert list(play.job.tasks) == ["2"]


def test_a_task_that_is_listed_again_after_its_end_has_the_state_that_squeue_shows() -> None:
    running = (row("12_1", "RUNNING"), row("12_2", "RUNNING"))
    play = Play().queue(*running).later(30).queue(running[1]).record(record("12_2", "RUNNING")).later(30)
    play.queue(running[1]).accounting(sacct_row("12_1", "FAILED", 1), sacct_row("12_2", "RUNNING"))
    assert play.end("1").exit_code == 1
    task = play.later(30).queue(*running).job.tasks["1"]
    assert (task.end, task.state, task.restarts) == (None, JobState.RUNNING, 0)
