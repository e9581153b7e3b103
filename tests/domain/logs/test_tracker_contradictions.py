"""Where a tracker and the scheduler contradict each other about a run, and where they do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.logs.contradictions import (
    FINISHED_EARLY,
    LOST_CONTACT,
    NOT_RESUMED,
    SAYS_FAILED,
    SAYS_FINISHED,
    STILL_RUNNING,
    JobSide,
    contradictions,
)
from jobmon_core.domain.logs.progress.model import Progress
from jobmon_core.domain.logs.tracker import Metric, RunStatus, Tracker, TrackerRun
from jobmon_core.domain.slurm.states import Outcome

RUN = TrackerRun(Tracker.MLFLOW, "ab12", status=RunStatus.RUNNING, step=420, place="/data/mlflow.db")
OF_1000 = Progress(current=420, total=1000)
SUCCESS, FAILURE = JobSide(Outcome.SUCCESS), JobSide(Outcome.FAILURE)


def ids(run: TrackerRun, job: JobSide) -> list[str]:
    """Return the ids of what contradicts."""
    return [each.id for each in contradictions(run, job)]


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.FAILURE, Outcome.CANCELLED])
def test_a_tracker_that_still_says_running_is_named_with_the_way_to_close_it(outcome: Outcome) -> None:
    (found,) = contradictions(RUN, JobSide(outcome))
    assert (found.id, found.text) == (STILL_RUNNING, "MLflow still says running, but the job has ended")
    assert "ab12" in found.advice
    wandb = replace(RUN, tracker=Tracker.WANDB, place="/data/wandb/offline-run-1-x")
    (found,) = contradictions(wandb, JobSide(outcome))
    assert "`wandb sync /data/wandb/offline-run-1-x`" in found.advice


def test_an_end_that_nobody_knows_contradicts_nothing() -> None:
    assert ids(RUN, JobSide(Outcome.UNKNOWN)) == []


def test_a_crash_that_a_moving_run_belies_is_lost_contact() -> None:
    crashed = replace(RUN, status=RunStatus.CRASHED)
    assert ids(crashed, JobSide(is_moving=True)) == [LOST_CONTACT]
    assert ids(crashed, JobSide(is_moving=False)) == []


@pytest.mark.parametrize("status", [RunStatus.CRASHED, RunStatus.KILLED, RunStatus.FAILED])
def test_a_tracker_that_lost_a_cancelled_run_is_no_news(status: RunStatus) -> None:
    assert ids(replace(RUN, status=status), JobSide(Outcome.CANCELLED)) == []
    assert ids(replace(RUN, status=status), FAILURE) == []


def test_a_run_that_was_closed_before_its_job_failed_is_named() -> None:
    assert ids(replace(RUN, status=RunStatus.FINISHED), FAILURE) == [SAYS_FINISHED]


def test_a_tracker_that_says_finished_below_the_total_makes_a_success_doubtful() -> None:
    finished = replace(RUN, status=RunStatus.FINISHED)
    (found,) = contradictions(finished, success_at(OF_1000))
    assert (found.id, found.text) == (FINISHED_EARLY, "MLflow says finished at step 420 of 1,000")
    assert ids(replace(finished, total_steps=1000), success_at(Progress(current=420))) == [FINISHED_EARLY]


def success_at(progress: Progress) -> JobSide:
    """Return the side of a job that succeeded, with this progress."""
    return SUCCESS._replace(progress=progress)


@pytest.mark.parametrize(
    "progress",
    [
        Progress(current=420),
        Progress(current=420, total=421),
        Progress(current=999, total=1000),
        Progress(current=1000, total=1000),
        Progress(current=420, total=1000, end_marker="Early stopping"),
        Progress(current=4, total=10, unit="epoch"),
        None,
    ],
)
def test_no_total_the_whole_total_and_an_early_stop_are_no_doubt(progress: Progress | None) -> None:
    finished = replace(RUN, status=RunStatus.FINISHED)
    assert ids(finished, SUCCESS._replace(progress=progress)) == []


def test_a_last_step_that_was_not_logged_is_no_doubt() -> None:
    losses = tuple(Metric(0.5, step) for step in range(0, 1000, 100))
    finished = replace(RUN, status=RunStatus.FINISHED, step=900, losses=losses)
    assert ids(finished, success_at(Progress(current=900, total=1000))) == []


def test_the_calls_that_wandb_counts_are_no_steps() -> None:
    finished = replace(RUN, tracker=Tracker.WANDB, status=RunStatus.FINISHED)
    assert ids(finished, success_at(OF_1000)) == []
    counted = replace(finished, metrics={"train/global_step": Metric(420.0, 42)})
    assert ids(counted, success_at(OF_1000)) == [FINISHED_EARLY]


def test_a_failure_that_the_program_survived_is_named() -> None:
    failed = replace(RUN, status=RunStatus.FAILED, error="ValueError: nan")
    (found,) = contradictions(failed, SUCCESS)
    assert (found.id, found.advice) == (SAYS_FAILED, "ValueError: nan")


def test_a_new_run_in_a_further_attempt_did_not_resume() -> None:
    second = JobSide(attempt=1, earlier=(RUN,))
    assert ids(replace(RUN, run_id="cd34"), second) == [NOT_RESUMED]
    assert ids(RUN, second) == []
    assert ids(replace(RUN, run_id="cd34"), second._replace(attempt=0)) == []
    assert ids(replace(RUN, run_id="cd34", tracker=Tracker.TENSORBOARD), second) == []
    assert ids(replace(RUN, run_id="cd34", tracker=Tracker.WANDB), second) == []


@pytest.mark.parametrize("status", RunStatus)
def test_a_healthy_run_has_none(status: RunStatus) -> None:
    whole = success_at(Progress(current=1000, total=1000))
    if status in (RunStatus.FINISHED, RunStatus.UNKNOWN):
        assert ids(replace(RUN, status=status, step=1000), whole) == []
    if status in (RunStatus.RUNNING, RunStatus.UNKNOWN, RunStatus.FINISHED):
        assert ids(replace(RUN, status=status), JobSide(is_moving=True, progress=OF_1000)) == []
