"""Whether another counter of a log contradicts the one that was chosen for the job."""

from __future__ import annotations

from collections.abc import Sequence

from jobmon_core.domain.humanize import number, plural
from jobmon_core.domain.logs.progress.log.epochs import counts_from_zero
from jobmon_core.domain.logs.progress.log.tracks import Track
from jobmon_core.domain.logs.progress.model import Progress

_SLACK = 0.02  # of the job: lines are printed now and then
_CONTRADICTION = 0.1  # of the job: shares that differ by more are not those of one job
_NEAR, _APART = (
    4,
    0.1,
)  # readings, or share of them, in which only one of two counters beside each other is seen
_SURE_UPDATES = 3


def contradiction(job: Track, progress: Progress, others: Sequence[Track]) -> tuple[str, ...]:
    """Return what ``job`` and one that contradicts it count, e.g. ``120 of 640 steps``; empty without any.

    ``progress`` is that by ``job`` alone.
    """
    share = progress.fraction
    if share is None or progress.total != job.total or job.epoch is not None or job.rounds:
        return ()
    for other in others:
        if _is_in_another_epoch(job, other, share):
            return _counted(job.n, job.total, job.unit), _counted(other.epoch, other.epochs, "epoch")
        if _runs_beside(job, other) and abs((other.n or 0.0) / (other.total or 1.0) - share) > _CONTRADICTION:
            return _counted(job.n, job.total, job.unit), _counted(other.n, other.total, other.unit)
    return ()


def _is_in_another_epoch(job: Track, other: Track, share: float) -> bool:
    """Whether a line names an epoch to which the finished share of the job does not belong.

    Then the total may be that of an epoch. A line that is not printed with each count may mark the end of
    its epoch.
    """
    if job.is_bar or other.epoch is None or (other.epochs or 0.0) <= 1:
        return False
    is_on_each_line = 2 * other.updates > job.updates
    passed = other.epoch + (1 if counts_from_zero(other) or not is_on_each_line else 0)
    least, most = (other.epoch - 1) / (other.epochs or 1.0), passed / (other.epochs or 1.0)
    return not least - _SLACK <= share <= most + _SLACK


def _runs_beside(job: Track, other: Track) -> bool:
    """Whether both counters moved on at the same time, neither of them as a part of the other."""
    both = (job, other)
    if any(track.total is None or track.is_full or track.rounds or track.epoch is not None for track in both):
        return False
    have_moved = all(
        track.updates >= _SURE_UPDATES and (track.n or 0.0) > (track.first_n or 0.0) + 1 for track in both
    )
    is_same = (job.format, job.label) == (other.format, other.label)
    shared = min(job.last_seen, other.last_seen) - max(job.first_seen, other.first_seen)
    whole = max(job.last_seen, other.last_seen) - min(job.first_seen, other.first_seen)
    return have_moved and whole - shared <= max(_NEAR, _APART * whole) and not is_same


def _counted(n: float | None, total: float | None, unit: str) -> str:
    return f"{number(n or 0.0)} of {number(total or 0.0)} {plural(unit)}"
