"""Where a tracker and the scheduler contradict each other about a run, and where they do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.logs.progress.model import History, Progress, Sample, TaskProgress
from jobmon_core.domain.logs.tracker import Metric, RunStatus, Tracker, TrackerRun
from jobmon_core.domain.logs.tracker_end import FINISHED_EARLY, contradiction
from jobmon_core.domain.slurm.states import Outcome

RUN = TrackerRun(Tracker.MLFLOW, "ab12", status=RunStatus.RUNNING, step=420, place="/data/mlflow.db")
OF_1000 = Progress(current=420, total=1000)


def ids(
    run: TrackerRun, outcome: Outcome, progress: Progress | None = None, history: History | None = None
) -> list[str]:
    """Return the id of what contradicts."""
    found = contradiction(run, outcome, TaskProgress(progress, history or History()))
    return [found.id] if found else []


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.FAILURE, Outcome.CANCELLED])
def test_a_tracker_that_still_says_running_is_named_with_the_way_to_close_it(outcome: Outcome) -> None:
    found = contradiction(RUN, outcome)
    assert found
    assert (found.id, found.text) == (
        "tracker-still-running",
        "MLflow still says running, but the job has ended",
    )
    assert "ab12" in found.advice
    wandb = replace(RUN, tracker=Tracker.WANDB, place="/data/wandb/offline-run-1-x")
    found = contradiction(wandb, outcome)
    assert found
    assert "`wandb sync /data/wandb/offline-run-1-x`" in found.advice


def test_an_end_that_nobody_knows_contradicts_nothing() -> None:
    assert ids(RUN, Outcome.UNKNOWN) == []


@pytest.mark.parametrize("status", [RunStatus.CRASHED, RunStatus.KILLED, RunStatus.FAILED])
def test_a_tracker_that_lost_a_cancelled_run_is_no_news(status: RunStatus) -> None:
    assert ids(replace(RUN, status=status), Outcome.CANCELLED) == []
    assert ids(replace(RUN, status=status), Outcome.FAILURE) == []


def test_a_run_that_was_closed_before_its_job_failed_is_named() -> None:
    assert ids(replace(RUN, status=RunStatus.FINISHED), Outcome.FAILURE) == ["tracker-says-finished"]


def test_a_tracker_that_says_finished_below_the_total_makes_a_success_doubtful() -> None:
    finished = replace(RUN, status=RunStatus.FINISHED)
    found = contradiction(finished, Outcome.SUCCESS, TaskProgress(OF_1000))
    assert found
    assert (found.id, found.text) == (FINISHED_EARLY, "MLflow says finished at step 420 of 1,000")
    of_run = replace(finished, total_steps=1000)
    assert ids(of_run, Outcome.SUCCESS, Progress(current=420)) == [FINISHED_EARLY]


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
    assert ids(finished, Outcome.SUCCESS, progress) == []


def test_a_last_step_that_was_not_logged_is_no_doubt() -> None:
    history = History(samples=tuple(Sample(float(step), step) for step in range(0, 1000, 100)))
    finished = replace(RUN, status=RunStatus.FINISHED, step=900)
    assert ids(finished, Outcome.SUCCESS, Progress(current=900, total=1000), history) == []


def test_the_calls_that_wandb_counts_are_no_steps() -> None:
    finished = replace(RUN, tracker=Tracker.WANDB, status=RunStatus.FINISHED)
    assert ids(finished, Outcome.SUCCESS, OF_1000) == []
    counted = replace(finished, metrics={"train/global_step": Metric(420.0, 42)})
    assert ids(counted, Outcome.SUCCESS, OF_1000) == [FINISHED_EARLY]


def test_a_failure_that_the_program_survived_is_named() -> None:
    failed = replace(RUN, status=RunStatus.FAILED, error="ValueError: nan")
    found = contradiction(failed, Outcome.SUCCESS)
    assert found
    assert (found.id, found.advice) == ("tracker-says-failed", "ValueError: nan")


@pytest.mark.parametrize("status", [RunStatus.FINISHED, RunStatus.UNKNOWN])
def test_a_healthy_run_has_none(status: RunStatus) -> None:
    whole = Progress(current=1000, total=1000)
    assert ids(replace(RUN, status=status, step=1000), Outcome.SUCCESS, whole) == []
