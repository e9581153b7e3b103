"""Round numbers for the axes of a chart."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import NamedTuple

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MINUTE_S, _HOUR_S, _DAY_S = 60.0, 3600.0, 86_400.0
_TIME_STEPS_S = (
    *(1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(_MINUTE_S * number for number in (1, 2, 5, 10, 15, 30)),
    *(_HOUR_S * number for number in (1, 2, 3, 6, 12)),
    *(_DAY_S * number for number in (1, 2, 5, 10, 20, 50, 100)),
)
_INTERVALS, _TIME_INTERVALS = 4, 6  # between marks, about
_SMALLEST = 1e-300
_TOLERANCE = 1e-9  # less is rounding: of a step, or of the values


class Axis(NamedTuple):
    """The range of an axis and where it has marks; a logarithmic one is above 0."""

    low: float
    high: float
    ticks: tuple[float, ...]
    is_logarithmic: bool = False

    def share(self, value: float) -> float:
        """Return where a value lies, from 0 (the low end) to 1; a value outside at its nearer end."""
        low, high = self.low, self.high
        if self.is_logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(max(value, low))
        return min(1.0, max(0.0, (value - low) / (high - low)))


def linear_axis(lowest: float, highest: float) -> Axis:
    """Return an axis from a round number to a round number that holds both values."""
    spread, size = highest - lowest, max(abs(lowest), abs(highest))
    if spread <= max(_SMALLEST, size * _TOLERANCE):  # too small for marks that differ
        margin = max(0.5, size * _TOLERANCE)
        lowest, highest, spread = lowest - margin, highest + margin, 2 * margin
    step = round_step(spread / _INTERVALS)
    first = math.floor(lowest / step + _TOLERANCE)
    last = math.ceil(highest / step - _TOLERANCE)
    ticks = tuple(number * step for number in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks)


def logarithmic_axis(lowest: float, highest: float) -> Axis:
    """Return an axis over powers of ten that holds both values, which are above 0."""
    first, last = math.floor(math.log10(lowest)), math.ceil(math.log10(highest))
    last = max(last, first + 1)
    every = -(-(last - first) // 5)  # at most six marks
    return Axis(10.0**first, 10.0**last, tuple(10.0**power for power in range(first, last + 1, every)), True)


def round_step(at_least: float) -> float:
    """Return the smallest 1, 2, 2.5 or 5 times a power of ten that is not below ``at_least``."""
    power = 10.0 ** math.floor(math.log10(at_least))
    return next(step * power for step in _STEPS if step * power >= at_least * (1 - _TOLERANCE))


def time_ticks(span_s: float) -> tuple[float, ...]:
    """Return the marks of a time axis in seconds after its start, at full minutes, hours or the like."""
    at_least_s = span_s / _TIME_INTERVALS
    index = bisect_left(_TIME_STEPS_S, at_least_s)
    step_s = _TIME_STEPS_S[index] if index < len(_TIME_STEPS_S) else round_step(at_least_s)
    return tuple(number * step_s for number in range(int(span_s / step_s) + 1))
