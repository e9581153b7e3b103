"""The course of a run: its progress, throughput and loss over time, from its bounded history."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from jobmon_core.domain.progress.curve import Curve
from jobmon_core.domain.progress.model import History
from jobmon_core.domain.report.series import Point, Series, Window

_PERIODS = 120
_MIN_SPAN_S = 1e-3  # of a run whose throughput is known


class LossCourse(NamedTuple):
    """The loss of a run, as far as its history kept it. Times are Unix seconds."""

    first: float
    last: float
    best: float
    best_at_s: float
    worst: float
    worst_at_s: float
    bad_values: int  # samples whose loss is not a finite number
    series: Series


def progress_series(history: History) -> Series:
    """Return the finished units over time."""
    points = tuple(_flat(each.at_s, each.current) for each in history.samples if math.isfinite(each.current))
    return Series((points,) if points else ())


def throughput_series(history: History, window: Window) -> Series:
    """Return the units per second over time, in periods long enough to hold an update of the log.

    After the last update, it is 0 up to the end of the window, unless that is only one period later.
    """
    curve = Curve.of(history)
    if curve is None or curve.span_s < _MIN_SPAN_S:
        return Series()
    period_s = max(window.span_s / _PERIODS, 2 * history.median_pause_s)
    end_s = window.end_s if window.end_s - curve.times_s[-1] > period_s else curve.times_s[-1]
    periods = max(1, min(_PERIODS, int((end_s - curve.times_s[0]) / period_s)))
    step_s = (end_s - curve.times_s[0]) / periods
    edges_s = [curve.times_s[0] + step_s * number for number in range(periods + 1)]
    units = [curve.units_at(each) for each in edges_s]
    rates = [(later - earlier) / step_s for earlier, later in pairwise(units)]
    if periods == 1:  # one point would be an invisible curve
        return Series((tuple(_flat(at_s, rates[0]) for at_s in edges_s),))
    points = [_flat(at_s + step_s / 2, rate) for at_s, rate in zip(edges_s, rates, strict=False)]
    return Series((tuple(points),))


def loss_course(history: History) -> LossCourse | None:
    """Return the course of the loss; None if the history has no finite one."""
    known = [(each.at_s, each.loss) for each in history.samples if each.loss is not None]
    points = [_flat(at_s, value) for at_s, value in known if math.isfinite(value)]
    if not points:
        return None
    best, worst = _extreme(points, lowest=True), _extreme(points, lowest=False)
    return LossCourse(
        points[0].mean,
        points[-1].mean,
        best.mean,
        best.at_s,
        worst.mean,
        worst.at_s,
        len(known) - len(points),
        Series((tuple(points),)),
    )


def _extreme(points: Sequence[Point], *, lowest: bool) -> Point:
    return (min if lowest else max)(points, key=lambda point: point.mean)


def _flat(at_s: float, value: float) -> Point:
    return Point(at_s, value, value, value)
