"""Combine what several logs of one job show: its stdout and stderr, or one log for each worker."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from jobmon_core.domain.logs.progress.log.fold import LogState
from jobmon_core.domain.logs.progress.log.judge import judge
from jobmon_core.domain.logs.progress.model import Progress

_WORKER = "worker"
_FROM_OTHERS = (
    "epoch", "epochs", "loss", "learning_rate", "grad_norm", "elapsed_s", "end_marker",
)  # fmt: skip


def merged(logs: Sequence[tuple[str, LogState]], worker_logs: Collection[str] = ()) -> Progress | None:
    """Return the progress of the job by its logs, each with its path.

    If at least two of ``worker_logs`` show progress, these are summed; likewise if at least two logs do, and
    all of these are logs of workers by their names (``worker_0.log``). Otherwise one log decides: one with a
    total, then one that does not count epochs, then the longest run; the others fill in what it lacks.
    """
    totals: dict[str, float] = {}
    for _, state in logs:
        totals |= state.totals
    # one log may announce the totals of what another one counts
    found = [(path, judge(replace(state, totals=totals | state.totals))) for path, state in logs]
    shown = [(path, progress) for path, progress in found if progress is not None]
    known = [progress for path, progress in shown if path in worker_logs]
    if len(known) > 1:
        return _summed(known)
    workers = [progress for path, progress in shown if _WORKER in path.rpartition("/")[2]]
    if len(workers) > 1 and len(workers) == len(shown):
        return _summed(workers)
    return _completed([progress for _, progress in shown])


def _completed(shown: list[Progress]) -> Progress | None:
    if not shown:
        return None
    best = max(shown, key=_worth)
    missing = {}
    for name in _FROM_OTHERS:
        if getattr(best, name) in (None, ""):
            values = (getattr(each, name) for each in shown)
            missing[name] = next((value for value in values if value not in (None, "")), getattr(best, name))
    metrics: dict[str, float] = {}
    for each in shown:
        metrics |= each.metrics
    return replace(best, metrics=metrics | best.metrics, **missing)


def _worth(progress: Progress) -> tuple[bool, bool, float]:
    return progress.total is not None, progress.unit != "epoch", progress.elapsed_s or 0.0


def _summed(workers: list[Progress]) -> Progress:
    """Return the sum over the workers that count the same unit; the time left is the longest."""
    first = _completed(workers) or workers[0]
    comparable = [each for each in workers if each.unit == first.unit]
    known = [each.total for each in comparable if each.total is not None]
    rates = [each.rate_per_s for each in comparable if each.rate_per_s is not None]
    remaining = [each.remaining_s for each in comparable if each.remaining_s is not None]
    return replace(
        first,
        current=sum(each.current for each in comparable),
        total=sum(known) if len(known) == len(comparable) else None,
        rate_per_s=sum(rates) if len(rates) == len(comparable) else None,
        remaining_s=max(remaining) if len(remaining) == len(comparable) else None,
        batch=None,
        batches=None,
    )
