from __future__ import annotations

from jobmon_core.domain.job.tracking.clock_skew import clamp_to_now
from tests.support.play import Play, record, row, sacct_row


def test_a_clock_that_runs_forward_changes_nothing() -> None:
    play = Play().queue(row("12", "RUNNING"))
    assert clamp_to_now(play.job, play.now_s + 60) is play.job


def test_a_job_is_monitored_further_after_the_clock_was_set_back() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue()
    play.now_s -= 7200
    play.job = clamp_to_now(play.job, play.now_s)
    assert play.job.answered_s is not None
    assert play.job.answered_s < play.now_s
    play.later(1).queue().record().later(3)
    assert play.asks_accounting()
    play.accounting(sacct_row("12", "FAILED", 3))
    assert play.end().exit_code == 3


def test_no_inquiry_is_opened_by_the_repair() -> None:
    play = Play().queue(row("12", "RUNNING")).record(record("12", "RUNNING"))
    job = clamp_to_now(play.job, play.now_s - 7200)
    assert job.tasks[""].inquiry is None
    assert job.registered_s < play.now_s - 7200


def test_no_state_change_in_the_history_lies_in_the_future() -> None:
    play = Play().queue(row("12", "RUNNING")).record(record("12", "RUNNING"))
    now_s = play.now_s - 7200
    job = clamp_to_now(play.job, now_s)
    assert job.tasks[""].history
    assert all(change.at_s < now_s for change in job.tasks[""].history)
