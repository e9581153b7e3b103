"""The workers of a job, each with a log of its own: how far it is, and whether it still writes."""

from __future__ import annotations

from enum import StrEnum

from jobmon_core.domain.progress.model import Progress, Sample, WorkerProgress

_SILENT_S = 300.0  # without output, if the user names no other time after which a job has stalled


class WorkerState(StrEnum):
    """What a worker does, by its log."""

    RUNNING = "running"
    SILENT = "silent"  # it has written nothing for long
    FINISHED = "finished"


def worker_progress(
    before: WorkerProgress | None, progress: Progress | None, written_s: float
) -> WorkerProgress:
    """Return what is known of a worker after a look at its log, which was last written at ``written_s``."""
    first = before.first if before else None
    if progress and (first is None or progress.current < first.current):
        first = Sample(written_s, progress.current)
    return WorkerProgress(progress, written_s, first)


def worker_rate_per_s(worker: WorkerProgress) -> float | None:
    """Return the units per second of a worker: as its log prints them, else since it first showed any."""
    progress, first = worker.progress, worker.first
    if progress is None or progress.rate_per_s or first is None or worker.written_s <= first.at_s:
        return progress.rate_per_s if progress else None
    return (progress.current - first.current) / (worker.written_s - first.at_s)


def worker_state(worker: WorkerProgress, now_s: float, stall_timeout_s: float | None = None) -> WorkerState:
    """Return the state of a worker of a running job; ``stall_timeout_s`` is the one that the user names."""
    progress = worker.progress
    if progress and (progress.fraction == 1.0 or progress.end_marker):
        return WorkerState.FINISHED
    is_silent = now_s - worker.written_s >= (stall_timeout_s or _SILENT_S)
    return WorkerState.SILENT if is_silent else WorkerState.RUNNING
