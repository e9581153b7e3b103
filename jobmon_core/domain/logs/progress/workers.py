"""The workers of a job, each with a log of its own: how far it is, and whether it still writes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

from jobmon_core.domain.humanize import listed
from jobmon_core.domain.logs.progress.figures import position
from jobmon_core.domain.logs.progress.model import Progress, Sample, WorkerProgress

_SUCCESS = re.compile(
    r"(?i)\b(?:done|finished|completed?|success(?:ful(?:ly)?)?|all\s+(?:\S+\s+){0,2}processed)\b"
)
_FAILURE = re.compile(r"(?i)\b(?:not|un(?:successful|finished)|fail\w*|error|abort\w*|killed|incomplete)\b")
_DIGITS = re.compile(r"\d+")
_LAST_LINES = 3  # a log may end with statistics
_MAX_SHOWN = 6  # workers in one line
_SILENT_S = 300.0  # without output, unless the user says when a job has stalled


class WorkerState(StrEnum):
    """What a worker does, by its log."""

    RUNNING = "running"
    SILENT = "silent"  # it has written nothing for long
    FINISHED = "finished"


def worker_progress(
    before: WorkerProgress | None, progress: Progress | None, written_s: float
) -> WorkerProgress:
    """Return what is known of a worker after a look at its log."""
    first = before.first if before else None
    if progress and (first is None or progress.current < first.current):
        first = Sample(written_s, progress.current)
    return WorkerProgress(progress, written_s, first)


def worker_rate_per_s(worker: WorkerProgress) -> float | None:
    """Return the units per second, as the log prints them, else since it first showed any."""
    progress, first = worker.progress, worker.first
    if progress is None:
        return None
    if progress.rate_per_s or first is None or worker.written_s <= first.at_s:
        return progress.rate_per_s
    return (progress.current - first.current) / (worker.written_s - first.at_s)


def worker_state(worker: WorkerProgress, now_s: float, stall_timeout_s: float | None = None) -> WorkerState:
    """Return the state of a worker of a running job; ``stall_timeout_s`` is the user's."""
    if has_done_its_share(worker.progress):
        return WorkerState.FINISHED
    is_silent = now_s - worker.written_s >= (stall_timeout_s or _SILENT_S)
    return WorkerState.SILENT if is_silent else WorkerState.RUNNING


def has_done_its_share(progress: Progress | None, lines: Sequence[str] = ()) -> bool:
    """Whether a worker had finished by its progress or, once it has ended, by the last ``lines`` of its log.

    A line that reports success counts only if the log has no other of its kind, e.g. about each batch.
    """
    if progress and (progress.fraction == 1.0 or progress.end_marker):
        return True
    kinds = [_DIGITS.sub("", line).strip() for line in lines if line.strip()]
    last = kinds[-_LAST_LINES:]
    if any(_FAILURE.search(kind) for kind in last):
        return False
    return any(_SUCCESS.search(kind) and kinds.count(kind) == 1 for kind in last)


def how_far_each_came(workers: Mapping[str, WorkerProgress], exits: Mapping[str, str]) -> str:
    """Return that all workers of an ended job reached their totals, or how far the others came.

    ``exits`` says how workers ended, likewise by the names of their logs. Empty for fewer than two workers.
    """
    if len(workers) < 2:  # noqa: PLR2004 - the job's own progress says as much
        return ""
    done = [name for name, each in workers.items() if each.progress and each.progress.fraction == 1.0]
    others = [
        f"{name} {f'reached {position(each.progress)}' if each.progress else 'shows no progress'}"
        + (f" ({exits[name]})" if name in exits else "")
        for name, each in workers.items()
        if name not in done
    ]
    if not others:
        codes = {exits.get(name) for name in workers}
        how = f", and ended with {codes.pop()}" if len(codes) == 1 and None not in codes else ""
        return f"all {len(workers)} workers reached their total{how}"
    reached = f"{len(done)} of {len(workers)} workers reached their total"
    return f"{reached}; {listed(others, _MAX_SHOWN)}"
