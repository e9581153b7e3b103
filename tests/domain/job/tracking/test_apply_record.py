"""Restarts and reused job ids, as slurmctld's record reveals them."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.channels import Route
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.play import Play, record, row, sacct_row


def test_the_record_reveals_a_restart_that_squeue_never_showed() -> None:
    play = Play().queue(row("12", "COMPLETED")).record(replace(record("12", "COMPLETED"), restarts=2))
    play.later(3).accounting(sacct_row("12", "COMPLETED"))
    assert any(field.name == "Restarts" for field in play.job.outbox[0].message.fields)


def test_a_restart_that_the_record_shows_first_is_counted_once() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue(row("12", "COMPLETING"))
    requeued = replace(record("12", "PENDING"), restarts=1, submit_s=1_000_031)
    play.record(requeued).later(30).queue(row("12", "PENDING", "BeginTime", submit_s=1_000_031))
    assert play.job.tasks[""].restarts == 1


def test_a_restart_counted_before_its_submit_time_changes_is_counted_once() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue(row("12", "COMPLETING"))
    play.record(replace(record("12", "COMPLETING"), restarts=1)).later(30)
    play.queue(row("12", "PENDING", "BeginTime", submit_s=1_000_031))
    play.record(replace(record("12", "PENDING"), restarts=1, submit_s=1_000_031)).later(30)
    assert play.job.tasks[""].restarts == 1


def test_accounting_decides_about_a_job_that_was_requeued_and_ended_unseen() -> None:
    play = Play().queue(row("12", "NODE_FAIL"))
    play.record(replace(record("12", "PENDING"), restarts=1)).later(7200)
    play.queue().record().later(600)
    play.accounting(sacct_row("12", "COMPLETED"))
    assert play.end().outcome is Outcome.SUCCESS


REUSED_S = 1_003_600  # when Slurm gave the id to another job
OTHER_RECORD = replace(record("12", "COMPLETED"), submit_s=REUSED_S, restarts=0)


def with_reused_id() -> Play:
    """Let slurmctld restart without its state and give the id to a job submitted an hour later."""
    play = Play().queue(row("12", "RUNNING")).record(record("12", "RUNNING"))
    play.later(3600).queue(row("12", "RUNNING", submit_s=REUSED_S))
    return play.later(30).queue(row("12", "COMPLETED", submit_s=REUSED_S)).record(OTHER_RECORD)


def test_a_newer_job_with_the_same_id_proves_nothing_about_the_lost_one() -> None:
    play = with_reused_id()
    rows = (sacct_row("12", "RUNNING"), sacct_row("12", "COMPLETED", submit_s=REUSED_S))
    for _ in range(3):
        play.later(30).queue(row("12", "COMPLETED", submit_s=REUSED_S)).record(OTHER_RECORD)
        assert not play.accounting(*rows).job.ended
    for _ in range(30):
        play.later(30).queue().accounting(*rows)
    assert play.end().outcome is Outcome.UNKNOWN
    assert (play.end().started_s, play.end().nodes) == (None, "")  # those that squeue showed were the other's
    assert play.job.tasks[""].restarts == 0
    assert [entry.message.route for entry in play.job.outbox] == [Route.ERROR]


def test_accounting_proves_the_end_of_a_job_whose_id_slurm_reused() -> None:
    play = with_reused_id()
    play.later(30).queue().record().later(3)
    play.accounting(sacct_row("12", "NODE_FAIL"), sacct_row("12", "COMPLETED", submit_s=REUSED_S))
    play.later(60).queue()
    assert (play.end().state, play.end().outcome) == (JobState.NODE_FAIL, Outcome.FAILURE)


def test_a_requeued_job_is_never_taken_for_another_job() -> None:
    play = Play().queue(row("12", "RUNNING")).record(replace(record("12", "RUNNING"), restarts=0))
    for run in (1, 2, 3):
        requeued_s = 1_000_000 + 1000 * run
        play.later(1000).queue(row("12", "PENDING", "BeginTime", submit_s=requeued_s)).later(130)
        play.queue(row("12", "RUNNING", submit_s=requeued_s))
        play.record(replace(record("12", "RUNNING"), restarts=run, submit_s=requeued_s))
    play.later(30).queue(row("12", "COMPLETED", submit_s=1_003_000))
    play.record(replace(record("12", "COMPLETED"), restarts=3, submit_s=1_003_000)).later(3)
    play.accounting(sacct_row("12", "COMPLETED", submit_s=1_003_000))
    assert play.job.outcome is Outcome.SUCCESS
    assert play.job.tasks[""].restarts == 3
