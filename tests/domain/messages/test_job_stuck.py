"""Alerts about jobs that never start."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.channels import Route, Tone
from tests.support.play import Play, record, row, sacct_row


@pytest.mark.parametrize("listed", ["12", "12_[1-9]"])
def test_a_dependency_that_can_never_be_satisfied_causes_one_alert(listed: str) -> None:
    play = Play().queue(row(listed, "PENDING", "DependencyNeverSatisfied")).record(record(listed, "PENDING"))
    play.later(60).queue(row(listed, "PENDING", "DependencyNeverSatisfied"))
    (entry,) = play.job.outbox
    assert entry.message.tone is Tone.ATTENTION
    assert entry.message.title == "train (12) will never start: its dependency can no longer be met"
    assert "scancel 12" in entry.message.advice
    assert play.job.outcome is None


def test_each_special_exit_causes_one_alert() -> None:
    play = Play()
    for run in (1, 2):
        play.later(60).queue(row("12", "SPECIAL_EXIT", "JobHeldUser", submit_s=1_000_000 + run))
        play.record(replace(record("12", "SPECIAL_EXIT"), restarts=run)).later(60)
        play.queue(row("12", "SPECIAL_EXIT", "JobHeldUser", submit_s=1_000_000 + run))
        play.later(60).queue(row("12", "RUNNING", submit_s=1_000_000 + run)).record(record("12", "RUNNING"))
        assert len({entry.message.id for entry in play.job.outbox}) == run
    assert play.job.outcome is None


def test_a_failed_job_that_stays_held_after_its_requeue_causes_one_alert() -> None:
    held = row("12", "REQUEUE_HOLD", "job requeued in held state", submit_s=1_000_006)
    play = Play().queue(row("12", "RUNNING")).record(record("12", "RUNNING")).later(60)
    play.queue(held).record(replace(record("12", "REQUEUE_HOLD"), restarts=1)).later(60).queue(held)
    (entry,) = play.job.outbox
    assert entry.message.title == "train (12) failed, was requeued and is held"
    assert "scontrol release 12" in entry.message.advice
    assert not play.job.ended


def test_a_job_held_by_its_user_causes_no_alert() -> None:
    held = row("12", "PENDING", "JobHeldUser")
    play = Play().queue(held).later(60).queue(held)
    assert not play.job.outbox
    assert not play.job.ended


def test_many_tasks_held_for_the_same_reason_cause_one_alert() -> None:
    held = [row(f"12_{index}", "PENDING", "JobHoldMaxRequeue") for index in range(1, 9)]
    play = Play().queue(*held).record(*(record(f"12_{index}", "PENDING") for index in range(1, 9)))
    assert len(play.job.outbox) == 1


REFUSED = {
    "PartitionNodeLimit": "will not start: its partition does not allow that many nodes",
    "PartitionTimeLimit": "will not start: its time limit is longer",
    "PartitionConfig": "will not start: its partition cannot satisfy the request",
    "QOSMaxCpuPerJobLimit": "will not start: it requests more than its QOS allows a job",
    "AccountNotAllowed": "will not start: its partition does not accept its account or QOS",
    "ReservationDeleted": "will not start: its reservation does not exist any more",
}


@pytest.mark.parametrize("listed", ["12", "12_[1-9]"])
@pytest.mark.parametrize("reason", REFUSED)
def test_a_job_that_slurm_refuses_to_start_causes_one_alert_once_that_has_lasted(
    reason: str, listed: str
) -> None:
    waiting = row(listed, "PENDING", reason)
    play = Play().queue(waiting).record(record(listed, "PENDING"))
    assert not play.job.outbox  # the reason may be gone a moment later
    for _ in range(3):
        play.later(60).queue(waiting)
    (entry,) = play.job.outbox
    assert entry.message.tone is Tone.ATTENTION
    assert REFUSED[reason] in entry.message.title
    assert "JOBID" not in entry.message.advice


def test_a_job_that_only_waits_causes_no_alert() -> None:
    for reason in ("Priority", "Resources", "QOSMaxJobsPerUserLimit", "PartitionDown", "ReqNodeNotAvail"):
        waiting = row("12", "PENDING", reason)
        play = Play().queue(waiting).record(record("12", "PENDING")).later(3600).queue(waiting)
        assert not play.job.outbox


def test_a_job_for_several_partitions_may_start_in_another_one() -> None:
    waiting = row("12", "PENDING", "PartitionTimeLimit")
    play = Play().queue(waiting).record(replace(record("12", "PENDING"), partition="main,long"))
    assert not play.later(3600).queue(waiting).job.outbox


def test_a_job_that_slurm_has_cancelled_meanwhile_is_not_called_pending() -> None:
    waiting, cancelled = (row("12", state, "DependencyNeverSatisfied") for state in ("PENDING", "CANCELLED"))
    play = Play().queue(waiting).record(record("12", "PENDING")).later(10).queue(cancelled)
    play.record(record("12", "CANCELLED")).later(60).queue(cancelled)
    assert [entry.message.id for entry in play.job.outbox] in ([], ["12/end"])
    play.later(60).accounting(sacct_row("12", "CANCELLED"))
    assert [entry.message.id for entry in play.job.outbox] == ["12/end"]


@pytest.mark.parametrize(
    ("dependency", "route"),
    [
        ("afternotok:7(failed)", Route.SUCCESS),
        ("afternotok:7(failed),afternotok:8_*(unfulfilled)", Route.SUCCESS),
        ("afterok:7(failed)", Route.ERROR),
        ("afterok:7(failed),afternotok:8(failed)", Route.ERROR),
        ("", Route.ERROR),
    ],
)
def test_a_job_that_was_only_for_a_failure_that_did_not_come_is_no_error(
    dependency: str, route: Route
) -> None:
    cancelled = replace(row("12", "CANCELLED", "DependencyNeverSatisfied"), nodes="")
    ended = replace(record("12", "CANCELLED"), dependency=dependency, reason=cancelled.reason)
    play = Play().queue(cancelled).record(ended).later(60).queue(cancelled).later(600)
    (entry,) = play.job.outbox
    assert (entry.message.route, entry.message.tone) == (route, Tone.CANCELLED)
