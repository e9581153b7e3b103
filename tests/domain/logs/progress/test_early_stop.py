"""A training that stopped early after an outlier of the gradient norm may have diverged."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.logs.progress.model import History, Progress, Sample, TaskProgress
from jobmon_core.domain.logs.progress.result import early_divergence, with_result

STOPPED = Progress(300, 1000, epoch=3, epochs=10, end_marker="Early stopping triggered at epoch 3")


def run(norms: dict[int, float], progress: Progress = STOPPED) -> TaskProgress:
    """Return a run of 300 steps, a sample each 10, whose gradient norms are about 1."""
    samples = (
        Sample(1000.0 + step, step, 0.5, norms.get(step, 1 + step / 1000)) for step in range(10, 310, 10)
    )
    return TaskProgress(progress, History(1000.0, tuple(samples)))


def test_an_early_stop_after_an_outlier_in_the_first_two_epochs_is_said_in_the_message() -> None:
    found = with_result(Diagnosis(None, "", "", ""), run({120: 87.25}), succeeded=True, expected=None)
    assert found.cause is None
    assert found.work.endswith(
        "on average; it stopped early, and its gradient norm was 87.25 at step 120 (usually 1.165): "
        "it may have diverged"
    )


@pytest.mark.parametrize(
    ("norms", "progress", "is_found"),
    [
        ({120: math.nan}, STOPPED, True),
        ({120: 87.0}, replace(STOPPED, epochs=None), True),  # by the epoch that it reached
        ({120: 87.0}, replace(STOPPED, epoch=None, epochs=None), True),  # in the first fifth
        ({220: 87.0}, STOPPED, False),  # later
        ({120: 5.0}, STOPPED, False),
        ({}, STOPPED, False),
        ({120: 87.0}, replace(STOPPED, end_marker="Training completed"), False),
    ],
)
def test_an_outlier_counts_in_the_first_epochs_of_a_run_that_stopped_early(
    norms: dict[int, float],
    progress: Progress,
    is_found: bool,  # noqa: FBT001 - a column
) -> None:
    assert bool(early_divergence(run(norms, progress))) is is_found
