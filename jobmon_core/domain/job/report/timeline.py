"""The progress, throughput and loss of a run over time, from its bounded history."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

from jobmon_core.domain.job.report.series import Point, Series, Window
from jobmon_core.domain.logs.progress.curve import Curve
from jobmon_core.domain.logs.progress.model import History

_MAX_PERIODS = 120
_MIN_SPAN_S = 1e-3  # a shorter history gives no throughput


class LossSummary(NamedTuple):
    """The loss of a run in the samples that its bounded history keeps. Times are Unix seconds."""

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
    """Return the units per second over time, averaged over periods that mostly contain an update of the log.

    The rate is 0 from the last update to the end of the window, unless they are less than one period apart.
    """
    curve = Curve.of(history)
    if curve is None or curve.span_s < _MIN_SPAN_S:
        return Series()
    period_s = max(window.span_s / _MAX_PERIODS, 2 * history.median_pause_s)
    end_s = window.end_s if window.end_s - curve.times_s[-1] > period_s else curve.times_s[-1]
    periods = max(1, min(_MAX_PERIODS, int((end_s - curve.times_s[0]) / period_s)))
    step_s = (end_s - curve.times_s[0]) / periods
    edges_s = [curve.times_s[0] + step_s * number for number in range(periods + 1)]
    units = [curve.units_at(each) for each in edges_s]
    rates = [(later - earlier) / step_s for earlier, later in pairwise(units)]
    if periods == 1:  # a single point would not be visible
        return Series((tuple(_flat(at_s, rates[0]) for at_s in edges_s),))
    points = [_flat(at_s + step_s / 2, rate) for at_s, rate in zip(edges_s, rates, strict=False)]
    return Series((tuple(points),))


def loss_summary(history: History) -> LossSummary | None:
    """Summarise the loss; None if the history has no finite value."""
    known = [(each.at_s, each.loss) for each in history.samples if each.loss is not None]
    points = [_flat(at_s, value) for at_s, value in known if math.isfinite(value)]
    if not points:
        return None
    best = min(points, key=lambda point: point.mean)
    worst = max(points, key=lambda point: point.mean)
    return LossSummary(
        points[0].mean,
        points[-1].mean,
        best.mean,
        best.at_s,
        worst.mean,
        worst.at_s,
        len(known) - len(points),
        Series((tuple(points),)),
    )


def _flat(at_s: float, value: float) -> Point:
    return Point(at_s, value, value, value)
