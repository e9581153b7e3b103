"""Time over progress, as a curve between the samples of a history."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from jobmon_core.domain.logs.progress.history import is_sound
from jobmon_core.domain.logs.progress.model import History

_NEXT_TO_NOTHING = 1e-12  # share of the curve's units; less is rounding


class Segment(NamedTuple):
    """The stretch between two samples."""

    middle: float  # units
    units: float
    duration_s: float


@dataclass(frozen=True, slots=True)
class Curve:
    """When units, strictly rising, were finished; at least two points."""

    times_s: Sequence[float]
    units: Sequence[float]

    @classmethod
    def of(cls, history: History) -> Curve | None:
        """Return the curve of ``history``, unless that has fewer than two samples or is damaged."""
        if len(history.samples) < 2 or not is_sound(history):  # noqa: PLR2004 - a line needs two points
            return None
        return cls(
            [sample.at_s for sample in history.samples], [sample.current for sample in history.samples]
        )

    @property
    def span_units(self) -> float:
        """The units finished."""
        return self.units[-1] - self.units[0]

    @property
    def span_s(self) -> float:
        """The time that took."""
        return self.times_s[-1] - self.times_s[0]

    def times_at(self, units: Sequence[float]) -> list[float]:
        """Return when each of ``units`` were finished; beyond the curve, the time of its nearer end."""
        return _interpolate(self.units, self.times_s, units)

    def units_at(self, time_s: float) -> float:
        """Return how much was finished at ``time_s``, likewise."""
        return _interpolate(self.times_s, self.units, (time_s,))[0]

    def pace_from(self, start: float) -> float:
        """Return the seconds per unit since ``start``; of the whole curve if nothing was done since."""
        done = self.units[-1] - start
        if done <= _NEXT_TO_NOTHING * self.span_units:
            return self.span_s / self.span_units
        return (self.times_s[-1] - self.times_at([start])[0]) / done

    def paces(self, parts: int) -> list[float]:
        """Return the seconds per unit in parts with equal progress."""
        width = self.span_units / parts
        edges = self.times_at([self.units[0] + width * index for index in range(parts)])
        return [(end - start) / width for start, end in itertools.pairwise([*edges, self.times_s[-1]])]

    def segments(self) -> list[Segment]:
        """Return the stretches between the points."""
        return [
            Segment((start + end) / 2, end - start, until_s - since_s)
            for start, end, since_s, until_s in zip(
                self.units, self.units[1:], self.times_s, self.times_s[1:], strict=False
            )
        ]


def mean(values: Sequence[float]) -> float:
    """The mean; the statistics module would add 0.5 MB to a monitor."""
    return sum(values) / len(values)


def median(values: Iterable[float]) -> float:
    """The median of at least one value."""
    ordered = sorted(values)
    return mean(ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1])


def weighted_median(values: Iterable[tuple[float, float]]) -> float:
    """The median of (value, weight) pairs."""
    ordered = sorted(values)
    half = sum([weight for _, weight in ordered]) / 2
    for value, weight in ordered:
        half -= weight
        if half <= 0:
            return value
    return ordered[-1][0]


def _interpolate(inputs: Sequence[float], outputs: Sequence[float], values: Iterable[float]) -> list[float]:
    found = []
    for value in values:
        index = bisect_left(inputs, value)
        if index == 0:
            found.append(outputs[0])
        elif index == len(inputs):
            found.append(outputs[-1])
        else:
            start, before = inputs[index - 1], outputs[index - 1]
            found.append(before + (outputs[index] - before) * (value - start) / (inputs[index] - start))
    return found


_SLOWER = 3  # times the usual time for its units: a pause takes as long
_NOISE = 5  # and exceeds it by this many times the usual deviation
_SHORTEST_S = 2.0  # times in whole seconds show pauses of one second
_SHORTEST_SHARE = 0.004  # of the elapsed time: shorter ones are part of the pace
_SAME = 0.01  # of the progress so far: closer pauses are one
_REGULAR = 0.85  # pauses are regular if this share of their distances is one period,
_TOLERANCE = 0.2  # within this share of the period
_MIN_POINTS = 4  # kept when the start is cut off
_OVERDUE = 1.3  # periods without a pause: then no more are expected
_SHORTEST_DISTANCE = 0.1  # of the progress: an earlier single pause belongs to the start


def without_regular_pauses(curve: Curve, found: dict[float, float], total: float) -> tuple[Curve, float]:
    """Return the curve of a run of ``total`` units without its pauses, and the seconds of those to come.

    If the pauses ``found`` are not regular, return the curve as it is, and 0.0.
    """
    pauses = _joined(found, _SAME * curve.span_units)
    period = _period(list(pauses), curve)
    if period is None:
        return curve, 0.0
    to_come = int(max(0.0, (total - _TOLERANCE * period - max(pauses)) / period))
    cut_s, times_s = 0.0, [curve.times_s[0]]
    for segment, time_s in zip(curve.segments(), curve.times_s[1:], strict=True):
        cut_s += found.get(segment.middle, 0.0)
        times_s.append(time_s - cut_s)
    return Curve(times_s, curve.units), to_come * median(pauses.values())


def without_start(curve: Curve) -> tuple[Curve, dict[float, float]]:
    """Return the curve and its pauses, without a first stretch that is one, e.g. a compilation."""
    pauses = _pauses(curve)
    if len(curve.units) <= _MIN_POINTS or (curve.units[0] + curve.units[1]) / 2 not in pauses:
        return curve, pauses
    curve = Curve(curve.times_s[1:], curve.units[1:])
    return curve, _pauses(curve)


def _pauses(curve: Curve) -> dict[float, float]:
    """Return the segments that take much longer than usual: the seconds beyond that, by their middles."""
    # no `Segment` for each of 60 stretches of 200 jobs: that takes longer than the rest
    units = [end - start for start, end in itertools.pairwise(curve.units)]
    durations_s = [until_s - since_s for since_s, until_s in itertools.pairwise(curve.times_s)]
    pace = weighted_median([(each_s / done, done) for each_s, done in zip(durations_s, units, strict=True)])
    excess_s = [each_s - pace * done for each_s, done in zip(durations_s, units, strict=True)]
    noise_s = median(map(abs, excess_s))
    bound_s = max(_NOISE * noise_s, _SHORTEST_S, _SHORTEST_SHARE * curve.span_s)
    return {
        (curve.units[index] + curve.units[index + 1]) / 2: beyond_s
        for index, beyond_s in enumerate(excess_s)
        if beyond_s > bound_s and durations_s[index] > _SLOWER * pace * units[index]
    }


def _joined(pauses: dict[float, float], distance: float) -> dict[float, float]:
    joined: dict[float, float] = {}
    first = -math.inf
    for at, duration_s in pauses.items():
        first = first if at - first < distance else at
        joined[first] = joined.get(first, 0.0) + duration_s
    return joined


def _period(pauses: list[float], curve: Curve) -> float | None:
    if not pauses:
        return None
    first, last = pauses[0] - curve.units[0], curve.units[-1] - pauses[-1]
    distances = [end - start for start, end in itertools.pairwise(pauses)]
    if not distances:  # one pause: the next follows after the same distance
        started_late = first > _SHORTEST_DISTANCE * curve.span_units
        return first if started_late and last <= _OVERDUE * first else None
    period = median(distances)
    regular = sum(abs(distance / period - 1) < _TOLERANCE for distance in distances)
    return period if regular >= _REGULAR * len(distances) and last <= _OVERDUE * period else None
