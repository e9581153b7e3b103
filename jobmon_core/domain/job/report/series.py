"""Figures over time, with few enough points to draw. Times are Unix seconds, durations are seconds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from jobmon_core.domain.logs.progress.curve import Curve
from jobmon_core.domain.logs.progress.model import History

MAX_POINTS = 300
_GAP_S = 60.0  # a shorter time without figures is no gap: an agent may start again
_MAX_PERIODS = 120
_MIN_SPAN_S = 1e-3  # a shorter history gives no throughput


class Window(NamedTuple):
    """The time that a report is about."""

    start_s: float
    end_s: float

    @property
    def span_s(self) -> float:
        """Its length, never 0, so that shares of it can be formed."""
        return max(1.0, self.end_s - self.start_s)

    def share(self, at_s: float) -> float:
        """Return where a time lies, from 0 (the start) to 1 (the end); one outside counts as the nearer."""
        return min(1.0, max(0.0, (at_s - self.start_s) / self.span_s))


class Point(NamedTuple):
    """One point of a series: all that was measured in a stretch of time."""

    at_s: float
    mean: float
    low: float
    high: float
    span_s: float = 1.0  # for how long it was measured, up to ``at_s``: its weight in a mean


@dataclass(frozen=True, slots=True)
class Series:
    """A figure over time: stretches of points, between which nothing was measured."""

    stretches: tuple[tuple[Point, ...], ...] = ()

    @property
    def points(self) -> tuple[Point, ...]:
        """All points, oldest first."""
        return tuple(point for stretch in self.stretches for point in stretch)


def downsampled(measured: Iterable[Point], window: Window, max_points: int = MAX_POINTS) -> Series:
    """Return what was measured within a window: at most one point for each of ``max_points`` intervals.

    A point has the mean, weighted by time, the lowest and the highest of what it stands for.
    """
    width_s = window.span_s / max_points
    gap_s = max(_GAP_S, 2 * width_s)
    stretches: list[list[Point]] = [[]]
    held: list[Point] = []
    slot = 0
    for each in sorted(_within(measured, window)):
        own_slot = int((each.at_s - window.start_s) / width_s)
        if held and own_slot != slot:
            stretches[-1].append(_point(held))
            if each.at_s - each.span_s - held[-1].at_s > gap_s:
                stretches.append([])
            held = []
        slot = own_slot
        held.append(each)
    if held:
        stretches[-1].append(_point(held))
    return Series(tuple(tuple(stretch) for stretch in stretches if stretch))


def _within(measured: Iterable[Point], window: Window) -> Iterable[Point]:
    start_s, end_s = window
    return (each for each in measured if start_s <= each.at_s <= end_s and math.isfinite(sum(each)))


def _point(held: Sequence[Point]) -> Point:
    if len(held) == 1:
        return held[0]._replace(span_s=1.0)  # each point of a series weighs the same
    mean = weighted_mean([(each.mean, each.span_s) for each in held])
    at_s = sum(each.at_s for each in held) / len(held)
    return Point(at_s, mean, min(each.low for each in held), max(each.high for each in held))


def weighted_mean(values: Iterable[tuple[float, float]]) -> float:
    """Return the mean of at least one (value, weight) pair; without any weight, the plain mean."""
    pairs = list(values)
    total = sum(weight for _, weight in pairs)
    if total <= 0:
        return sum(value for value, _ in pairs) / len(pairs)
    return sum(value * weight for value, weight in pairs) / total


def envelope(several: Sequence[Series], window: Window) -> Series:
    """Return the mean of several series, with the lowest and the highest of all, in few points."""
    return downsampled((point for series in several for point in series.points), window)


def scaled(series: Series, divisor: float) -> Series:
    """Return a series with its values divided, e.g. in GiB instead of bytes."""
    return Series(
        tuple(
            tuple(
                Point(each.at_s, each.mean / divisor, each.low / divisor, each.high / divisor)
                for each in stretch
            )
            for stretch in series.stretches
        )
    )


def tabulated(several: Sequence[Series], window: Window, rows: int) -> list[tuple[float, list[float | None]]]:
    """Return rows of a table: the end of a period (seconds after the start) and the mean of each series."""
    columns: list[dict[int, list[float]]] = []
    for series in several:
        columns.append({})
        for point in series.points:
            row = min(rows - 1, int(window.share(point.at_s) * rows))
            columns[-1].setdefault(row, []).append(point.mean)
    kept = sorted({row for column in columns for row in column})
    return [
        (
            window.span_s * (row + 1) / rows,
            [sum(column[row]) / len(column[row]) if row in column else None for column in columns],
        )
        for row in kept
    ]


class LossSummary(NamedTuple):
    """The loss of a run in the samples that its bounded history keeps."""

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
    """Summarise the loss."""
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
