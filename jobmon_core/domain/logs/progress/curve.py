"""Time over progress, as a curve between the samples of a history."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from jobmon_core.domain.logs.progress.history import is_sound
from jobmon_core.domain.logs.progress.model import History

_NEXT_TO_NOTHING = 1e-12  # share of the curve's units; less is rounding


class Segment(NamedTuple):
    """The stretch between two samples."""

    start: float  # units
    units: float
    duration_s: float


@dataclass(frozen=True, slots=True)
class Curve:
    """At least two points of a run: its finished units, strictly rising, and when they were finished."""

    times_s: Sequence[float]
    units: Sequence[float]

    @classmethod
    def of(cls, history: History) -> Curve | None:
        """Return the curve of ``history``; None if it has fewer than two samples, or is damaged."""
        if len(history.samples) < 2 or not is_sound(history):  # noqa: PLR2004 - a line needs two points
            return None
        return cls(
            [sample.at_s for sample in history.samples], [sample.current for sample in history.samples]
        )

    @property
    def span_units(self) -> float:
        """The units finished along the curve."""
        return self.units[-1] - self.units[0]

    @property
    def span_s(self) -> float:
        """The time along the curve."""
        return self.times_s[-1] - self.times_s[0]

    def time_at(self, units: float) -> float:
        """Return when ``units`` were finished; beyond the curve, the time of its nearer end."""
        return _interpolate(self.units, self.times_s, (units,))[0]

    def times_at(self, units: Sequence[float]) -> list[float]:
        """Return when each of ``units`` were finished, as `time_at` does."""
        return _interpolate(self.units, self.times_s, units)

    def units_at(self, time_s: float) -> float:
        """Return how much was finished at ``time_s``; beyond the curve, the units of its nearer end."""
        return _interpolate(self.times_s, self.units, (time_s,))[0]

    def pace_from(self, start: float) -> float:
        """Return the seconds per unit since ``start`` units; of the whole curve if nothing was done since."""
        done = self.units[-1] - start
        if done <= _NEXT_TO_NOTHING * self.span_units:
            return self.span_s / self.span_units
        return (self.times_s[-1] - self.time_at(start)) / done

    def paces(self, parts: int) -> list[float]:
        """Return the seconds per unit in each of ``parts`` parts with equal progress."""
        width = self.span_units / parts
        edges = self.times_at([self.units[0] + width * index for index in range(parts)])
        return [(end - start) / width for start, end in itertools.pairwise([*edges, self.times_s[-1]])]

    def segments(self) -> list[Segment]:
        """Return the stretches between the points."""
        return [
            Segment(start, end - start, until_s - since_s)
            for start, end, since_s, until_s in zip(
                self.units, self.units[1:], self.times_s, self.times_s[1:], strict=False
            )
        ]


def mean(values: Sequence[float]) -> float:
    """Return the mean of at least one value."""  # the statistics module would add 0.5 MB to a monitor
    return sum(values) / len(values)


def median(values: Iterable[float]) -> float:
    """Return the median of at least one value."""
    ordered = sorted(values)
    return mean(ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1])


def weighted_median(values: Iterable[tuple[float, float]]) -> float:
    """Return the weighted median of at least one (value, weight) pair."""
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
