"""A failed job that Slurm runs again after its end was reported, and several records of one job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.job.tracking.apply_queue import apply_queue
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.job.tracking.reopen import may_be_requeued, reopened_if_requeued, without_duplicates
from jobmon_core.domain.slurm.rows import JobRow
from jobmon_core.domain.slurm.states import JobState, Outcome
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


SUBMITTED_S = 1000


def record(
    id_: str, registered_s: float, outcome: Outcome | None = None, submitted_s: int = SUBMITTED_S
) -> WatchedJob:
    """Return a record of job 12, which ended if it has an outcome."""
    tasks = {}
    if outcome:
        state = JobState.FAILED if outcome is Outcome.FAILURE else JobState.UNKNOWN
        tasks = {"": Task("", state, state.value, end=End(state, state.value, outcome, Source.QUEUE))}
    return WatchedJob(
        id_,
        12,
        registered_s,
        not_before_s=submitted_s,
        submitted_s=submitted_s,
        tasks=tasks,
        concluded_s=registered_s + 500 if outcome else None,
    )


def test_a_second_poorer_record_of_an_ended_job_is_left_out() -> None:
    full, poor = record("a", 1001, Outcome.FAILURE), record("b", 2000, Outcome.UNKNOWN)
    assert without_duplicates([full, poor]) == [full]


def test_of_two_complete_records_the_newer_one_counts() -> None:
    first, second = record("a", 1001, Outcome.FAILURE), record("b", 2000, Outcome.FAILURE)
    assert without_duplicates([second, first]) == [second]


def test_a_record_that_is_watched_counts_more_than_one_that_is_closed() -> None:
    stopped = replace(record("a", 1001), unwatched_s=1500.0)
    watched = record("b", 2000)
    assert without_duplicates([stopped, watched]) == [watched]
    assert without_duplicates([record("a", 1001), record("b", 2000, Outcome.FAILURE)])[0].id == "a"


def test_a_record_made_after_a_requeue_is_of_the_same_job() -> None:
    assert len(without_duplicates([record("a", 1001), record("b", 2000, submitted_s=1800)])) == 1


def test_a_job_with_a_reused_id_is_another_job() -> None:
    old = record("a", 1001, Outcome.FAILURE)
    new = record("b", 90_001, submitted_s=90_000)
    assert without_duplicates([new, old]) == [old, new]


def test_jobs_of_other_clusters_backends_or_parts_are_other_jobs() -> None:
    first = replace(record("a", 1001), cluster="big")
    others = [
        replace(record("b", 1002), cluster="small"),
        replace(record("c", 1003), backend="local"),
        replace(record("d", 1004), watched_part="3"),
    ]
    assert without_duplicates([first, *others]) == [first, *others]
    assert without_duplicates([first, replace(record("b", 1002), cluster="")])[0].id == "b"
