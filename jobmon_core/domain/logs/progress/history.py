"""Remember how the progress of a run changed over time, in a bounded number of samples.

Those in a straight stretch are dropped first: pauses and changes of speed outlive the thinning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import le, lt

from jobmon_core.domain.logs.progress.model import History, Sample

MAX_SAMPLES = 240
_THINNED_TO = 180
_RECENT = 40  # so many of the newest samples are never dropped
_NEW_RUN = 0.9  # of the last count: noise and interleaved workers fall less
_MEDIAN_STEP = 1.1  # factor by which one pause moves the running median at most
_PROGRESS = 1 + 1e-9  # from one count to the next; a smaller factor is rounding
_LARGEST = 1e15  # units or seconds
_EVEN = 0.05  # weight of an even spacing against the shape of the curve


def add_sample(history: History, sample: Sample) -> History:
    """Return ``history`` with one more sample, if that is plausible and no older.

    A ``current`` below nine tenths of the last one begins a new history. Any other one that is no progress is
    ignored, so the gap between two samples is a pause.
    """
    if not (0 <= sample.at_s <= _LARGEST and 0 <= sample.current <= _LARGEST):  # nan too
        return history
    if not history.samples:
        return replace(history, samples=(sample,))
    last = history.samples[-1]
    if sample.current < _NEW_RUN * last.current:
        return History(started_s=max(last.at_s, sample.at_s), samples=(sample,))
    if sample.current <= last.current * _PROGRESS or sample.at_s < last.at_s:
        return history
    pause_s = sample.at_s - last.at_s
    samples = (*history.samples, sample)
    return replace(
        history,
        samples=samples if len(samples) <= MAX_SAMPLES else _thinned(samples),
        longest_pause_s=max(history.longest_pause_s, pause_s),
        median_pause_s=_moved(history.median_pause_s, pause_s),
    )


def is_sound(history: History) -> bool:
    """Whether `add_sample` can have made it; one from a damaged file may be anything."""
    times_s = [sample.at_s for sample in history.samples]
    units = [sample.current for sample in history.samples]
    ends = (*times_s[:1], *times_s[-1:], *units[:1], *units[-1:])  # all others lie between them
    return (
        all(0 <= value <= _LARGEST for value in (history.longest_pause_s, history.median_pause_s, *ends))
        and all(map(le, times_s, times_s[1:]))
        and all(map(lt, units, units[1:]))
    )


def _moved(median_s: float, pause_s: float) -> float:
    if not median_s:
        return pause_s
    if pause_s > median_s:
        return min(pause_s, median_s * _MEDIAN_STEP)
    return max(pause_s, median_s / _MEDIAN_STEP)


def _thinned(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """Drop the old samples that the curve needs least, no two neighbours at once."""
    old = range(1, len(samples) - _RECENT)
    dropped: set[int] = set()
    for index in sorted(old, key=lambda i: _importance_s(*samples[i - 1 : i + 2])):
        if dropped.isdisjoint((index - 1, index + 1)):
            dropped.add(index)
        if len(samples) - len(dropped) <= _THINNED_TO:
            break
    return tuple(sample for index, sample in enumerate(samples) if index not in dropped)


def _importance_s(before: Sample, sample: Sample, after: Sample) -> float:
    """Return how far the curve moves without ``sample``, plus a share of the gap it would leave."""
    gap_s = after.at_s - before.at_s
    share = (sample.current - before.current) / (after.current - before.current)
    return abs(before.at_s + share * gap_s - sample.at_s) + _EVEN * gap_s
