"""What the log of one worker shows."""

from __future__ import annotations

import pytest

from jobmon_core.domain.logs.progress.model import Progress, Sample, WorkerProgress
from jobmon_core.domain.logs.progress.workers import (
    WorkerState,
    worker_progress,
    worker_rate_per_s,
    worker_state,
)


def test_the_rate_is_that_of_the_log_else_that_since_the_first_look() -> None:
    worker = worker_progress(None, Progress(100.0), 1000.0)
    assert worker_rate_per_s(worker) is None
    worker = worker_progress(worker, Progress(150.0), 1010.0)
    assert worker_rate_per_s(worker) == 5.0
    assert worker_rate_per_s(worker_progress(worker, Progress(150.0, rate_per_s=4.0), 1010.0)) == 4.0
    assert worker_rate_per_s(WorkerProgress()) is None


def test_a_worker_that_starts_again_is_measured_anew() -> None:
    before = WorkerProgress(Progress(150.0), 1010.0, Sample(1000.0, 100.0))
    assert worker_progress(before, Progress(10.0), 1020.0).first == Sample(1020.0, 10.0)


@pytest.mark.parametrize(
    ("progress", "silent_s", "state"),
    [
        (Progress(10.0, 100.0), 299.0, WorkerState.RUNNING),
        (Progress(10.0, 100.0), 300.0, WorkerState.SILENT),
        (None, 300.0, WorkerState.SILENT),
        (Progress(100.0, 100.0), 300.0, WorkerState.FINISHED),
        (Progress(10.0, end_marker="Training completed"), 300.0, WorkerState.FINISHED),
    ],
)
def test_a_worker_runs_is_silent_or_has_finished(
    progress: Progress | None, silent_s: float, state: WorkerState
) -> None:
    assert worker_state(WorkerProgress(progress, 1000.0), 1000.0 + silent_s) is state


def test_the_users_own_time_decides_when_a_worker_is_silent() -> None:
    assert worker_state(WorkerProgress(None, 1000.0), 1060.0, 60.0) is WorkerState.SILENT
