"""Find out whether a training diverges: nan, or a loss or gradient norm far above its past."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jobmon_core.domain.progress.curve import median

_NEWEST = 3  # their median counts: a single spike is normal
_MIN_PAST = 20
# the bound is the median of the past, plus
_SPREADS = 4  # times the distance between its 10th and 90th percentile, plus
_SHARE = 0.5  # of that median, since the past may hardly vary
_LOWEST, _HIGHEST = 0.1, 0.9


def is_not_finite(values: Sequence[float], newest: int) -> bool:
    """Return whether each of the ``newest`` values is nan or infinite; False with fewer values."""
    return len(values) >= newest and not any(map(math.isfinite, values[-newest:]))


def bound_exceeded(values: Sequence[float]) -> float | None:
    """Return the bound, from the recent past, that the median of the newest values exceeds, else None."""
    finite = [value for value in values if math.isfinite(value)]
    past, newest = finite[:-_NEWEST], finite[-_NEWEST:]
    past = past[-max(_MIN_PAST, len(past) // 2) :]  # a loss falls quickly at the start
    if len(past) < _MIN_PAST:
        return None
    ordered = sorted(past)
    spread = ordered[int(_HIGHEST * (len(ordered) - 1))] - ordered[int(_LOWEST * (len(ordered) - 1))]
    bound = median(past) + _SPREADS * spread + _SHARE * abs(median(past))
    return bound if median(newest) > bound else None


def is_below(values: Sequence[float], bound: float | None) -> bool:
    """Return whether the newest values are finite and, in the median, not above ``bound``."""
    newest = values[-_NEWEST:]
    return all(map(math.isfinite, newest)) and (bound is None or not newest or median(newest) <= bound)
