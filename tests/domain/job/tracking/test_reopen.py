"""A failed job whose end was reported, and that Slurm runs again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.job.tracking.apply_queue import apply_queue
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.job.tracking.reopen import may_be_requeued, reopened_if_requeued
from jobmon_core.domain.slurm.rows import JobRow
from tests.support.play import Play, row

LATER_S = 1_000_100


def after_answer(job: WatchedJob, *rows: JobRow) -> WatchedJob:
    return reopened_if_requeued(job, apply_queue(job, rows, LATER_S + 1.0, Policy()))


@pytest.mark.parametrize("state", ["PENDING", "RUNNING", "COMPLETED"])
def test_a_requeued_job_is_watched_again_even_if_its_new_run_has_ended_already(state: str) -> None:
    job = Play().ends(("12", "FAILED", 3)).job
    assert job.closed
    again = after_answer(job, row("12", state, submit_s=LATER_S))
    assert not again.closed
    assert again.outcome is None
    assert again.tasks[""].restarts == 1


def test_an_end_that_was_reported_stays_if_nothing_runs_again() -> None:
    job = Play().ends(("12", "FAILED", 3)).job
    assert after_answer(job, row("12", "FAILED")) is job
    assert after_answer(job) is job


def test_only_a_failed_job_that_slurm_remembers_is_looked_at_again() -> None:
    failed, completed = Play().ends(("12", "FAILED", 3)).job, Play().ends(("12", "COMPLETED", 0)).job
    assert failed.concluded_s is not None
    assert may_be_requeued(failed, failed.concluded_s + 299)
    assert not may_be_requeued(failed, failed.concluded_s + 301)
    assert not may_be_requeued(completed, failed.concluded_s)
    assert not may_be_requeued(replace(failed, backend="local"), failed.concluded_s)
    assert not may_be_requeued(replace(failed, unwatched_s=failed.concluded_s), failed.concluded_s)
