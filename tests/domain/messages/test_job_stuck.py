"""Alerts about jobs that never start."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.delivery.outbox import Tone
from tests.support.play import Play, record, row


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
