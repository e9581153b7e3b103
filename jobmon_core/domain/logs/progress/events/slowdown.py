"""Compare the newest speed of a run with its own earlier speeds."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from jobmon_core.domain.logs.progress.curve import Curve, median
from jobmon_core.domain.logs.progress.model import History

_MIN_SAMPLES = 8
_MIN_S, _MIN_SHARE = 600.0, 0.1  # a run is judged after this time, or this share of its units
# how long the newest stretch lasts at least, so that a single pause does not count as a slowdown
_WINDOW = 0.15  # share of the elapsed time
_LONGEST_PAUSES, _USUAL_PAUSES = 2, 3  # times the longest and the median pause
_LEAST_S = 15.0
_PARTS = 6  # a window is split into these: the median of their paces ignores pauses
_STRIDE = 0.25  # distance from one earlier window to the next, as a share of a window
_MIN_EARLIER = 5
_START = 0.1  # this share of the units, at the start, does not count


@dataclass(frozen=True, slots=True)
class Paces:
    """Seconds per unit: in the newest stretch of a run, and in earlier stretches with as many units."""

    now: float
    newest: float  # in the second half of that stretch
    best: float
    usual: float
    worst: float


def compare_paces(history: History, total: float | None) -> Paces | None:
    """Compare the pace of a run of ``total`` units with its own past; None while there is too little past."""
    curve = Curve.of(history)
    if curve is None or len(curve.units) < _MIN_SAMPLES or not _is_under_way(curve, total):
        return None
    end, width = curve.units[-1], _window(curve, history)
    start = curve.units[0] + _START * curve.span_units
    if width <= 0:
        return None
    earlier = _paces(curve, width, start, end - width)
    if len(earlier) < _MIN_EARLIER:
        return None
    now, newest = _pace(curve, width, end), _pace(curve, width / 2, end)
    return Paces(now, newest, min(earlier), median(earlier), max(earlier))


def _is_under_way(curve: Curve, total: float | None) -> bool:
    return curve.span_s >= _MIN_S or (total is not None and curve.span_units >= _MIN_SHARE * total)


def _window(curve: Curve, history: History) -> float:
    """Return the units of the newest stretch."""
    pauses_s = max(_LONGEST_PAUSES * history.longest_pause_s, _USUAL_PAUSES * history.median_pause_s)
    window_s = max(_WINDOW * curve.span_s, pauses_s, _LEAST_S)
    return curve.units[-1] - curve.units_at(curve.times_s[-1] - window_s)


def _paces(curve: Curve, width: float, start: float, end: float) -> list[float]:
    """Return the paces of stretches with a sample in them; without one, the counter may have jumped."""
    count = int((end - start - width) / (_STRIDE * width)) + 1
    ends = [end - index * _STRIDE * width for index in range(max(0, count))]
    return [
        _pace(curve, width, each)
        for each in ends
        if bisect_right(curve.units, each - width) < bisect_left(curve.units, each)
    ]


def _pace(curve: Curve, width: float, end: float) -> float:
    times_s = curve.times_at([end - width * index / _PARTS for index in range(_PARTS + 1)])
    return median([(until_s - since_s) * _PARTS / width for until_s, since_s in itertools.pairwise(times_s)])
