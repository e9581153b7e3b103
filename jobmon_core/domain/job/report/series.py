"""Figures over time, with few enough points to draw. Times are Unix seconds, durations are seconds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

MAX_POINTS = 300
_GAP_S = 60.0  # a shorter time without figures is no gap: an agent may start again


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
    """A figure over time: stretches of points, with gaps between them in which nothing was measured."""

    stretches: tuple[tuple[Point, ...], ...] = ()

    @property
    def points(self) -> tuple[Point, ...]:
        """All points, oldest first."""
        return tuple(point for stretch in self.stretches for point in stretch)


def downsampled(measured: Iterable[Point], window: Window, max_points: int = MAX_POINTS) -> Series:
    """Return what was measured within a window: at most one point for each of ``max_points`` equal intervals.

    The end of the window may be one more point. A point has the mean, weighted by time, the lowest and the
    highest of what it stands for. Figures that are not finite are skipped.
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


def envelope(several: Sequence[Series], window: Window, max_points: int = MAX_POINTS) -> Series:
    """Return the mean of several series, with the lowest and the highest of all, in few points."""
    return downsampled((point for series in several for point in series.points), window, max_points)


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
    """Return rows of a table: the end of a period (seconds after the start) and the mean of each series.

    The periods have equal lengths; those without any figure are left out.
    """
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
