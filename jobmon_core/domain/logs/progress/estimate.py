"""Estimate when a run will end, from its bounded history.

The pace is that of the last 60 % of the elapsed time. Regular pauses are counted apart; after a clear change
of speed only the time since counts; a steady drift is carried on. The estimate is made at the last progress
line and counted down, so that a pause of at most twice the longest one does not move the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from jobmon_core.domain.logs.progress.curve import Curve, mean, without_regular_pauses, without_start
from jobmon_core.domain.logs.progress.model import Confidence, Estimate, History, LimitOutlook, Progress

_PATIENCE = 2  # times the longest pause so far: then the end may not come closer
_MIN_UPDATES = 3
_MIN_SHARE = 0.05  # of the run's units must be done
_WINDOW = 0.6  # the pace is measured in this last share of the elapsed time
_RECENT = 0.1  # likewise for the rate that is shown
_CHANGE_PARTS = 20
_CHANGE_BEFORE, _CHANGE_AFTER = 2, 2  # at least this many parts on either side
_CHANGE = 0.15  # share of the lower mean by which the paces on both sides differ
_DRIFT_PARTS = 8
_DRIFT_FIT = 0.85  # of the variance of the paces, explained by a straight line
_LEAST_DRIFT = 0.045  # of the mean pace: less is the wobble of any run
_DRIFT_SHARE = 0.7  # share of the drift that is carried on
_DRIFT_BOUNDS = 0.4, 2.5
# the range extends beyond the estimates by the sum of these shares of the remaining time (more if more is to
# do than was done), of the past time, and of the longest pause
_SLACK_REST, _SLACK_PAST, _SLACK_PAUSE = 0.06, 0.005, 0.4
ROUGH = 2.0  # while there are too few data, the rest may take twice as long, or half
# the range differs from the estimate by at most this share of the time left or, once half is done, of half
# the run
_HIGH, _MEDIUM = 0.12, 0.3


def estimate(history: History, total: float | None, now_s: float) -> Estimate:
    """Return when the run will have finished ``total`` units, as of ``now_s`` (Unix seconds).

    There is no end while there are fewer than three updates, or less than 5 % of the units are done. The
    rates need two updates.
    """
    curve = Curve.of(history)
    if curve is None or curve.span_s <= 0:
        return Estimate()
    rates = Estimate(_recent_rate(curve), curve.span_units / curve.span_s)
    # a resumed run starts in the middle
    is_early = not total or curve.span_units < _MIN_SHARE * (total - curve.units[0])
    if not total or is_early or len(curve.units) < _MIN_UPDATES:
        return rates
    forecast = _forecast(curve, total, history.longest_pause_s)
    is_overdue = now_s - curve.times_s[-1] > _PATIENCE * history.longest_pause_s
    confidence = Confidence.LOW if is_overdue else _confidence(forecast, curve.span_s)
    return _counted_down(replace(rates, confidence=confidence), forecast, history, now_s)


def estimate_or_printed(history: History, progress: Progress | None, now_s: float) -> Estimate:
    """Return an `estimate`; while that has no end, one with a wide range and low confidence.

    The remaining time is then the one that the log prints, else follows from the printed or average speed.
    """
    found = estimate(history, progress.total if progress else None, now_s)
    if found.remaining_s is not None or progress is None or progress.fraction == 1.0:
        return found
    by_speed_s = progress.at_speed_s(found.average_rate_per_s)
    signs_s = [
        each for each in (progress.remaining_s, by_speed_s) if each is not None and math.isfinite(each)
    ]
    if not signs_s:
        return found
    # of two that differ, neither is known to be right
    forecast = signs_s[0], min(signs_s) / ROUGH, max(signs_s) * ROUGH
    return _counted_down(found, forecast, history, now_s)


# the remaining time at the last progress line, the shortest and the longest one
_Forecast = tuple[float, float, float]


def _counted_down(found: Estimate, forecast: _Forecast, history: History, now_s: float) -> Estimate:
    idle_s = max(0.0, now_s - history.samples[-1].at_s) if history.samples else 0.0
    counted_s = min(idle_s, _PATIENCE * history.longest_pause_s)
    remaining_s, shortest_s, longest_s = (max(0.0, each_s - counted_s) for each_s in forecast)
    return replace(found, remaining_s=remaining_s, shortest_s=shortest_s, longest_s=longest_s)


def _recent_rate(curve: Curve) -> float:
    since_s = min(curve.times_s[-1] - _RECENT * curve.span_s, curve.times_s[max(0, len(curve.times_s) - 3)])
    return (curve.units[-1] - curve.units_at(since_s)) / (curve.times_s[-1] - since_s)


def _forecast(curve: Curve, total: float, longest_pause_s: float) -> _Forecast:
    curve, pauses = without_start(curve)
    rest = max(0.0, total - curve.units[-1])
    smooth, pauses_s = without_regular_pauses(curve, pauses, total)
    change = _change(smooth)
    window = smooth.units_at(smooth.times_s[-1] - _WINDOW * smooth.span_s)
    start = window if change is None else max(window, change)
    drift = 1.0 if change is not None else _drift(smooth, rest)
    remaining_s = rest * smooth.pace_from(start) * drift + pauses_s
    others = [
        rest * curve.pace_from(curve.units_at(curve.times_s[-1] - share * curve.span_s))
        for share in (0.25, 0.5, 1.0)
    ]
    others = others if change is None else others[:2]
    ahead = max(1.0, math.sqrt(rest / curve.span_units))  # the further a pace is carried on, the less sure
    slack_s = _SLACK_REST * ahead * remaining_s + _SLACK_PAST * curve.span_s + _SLACK_PAUSE * longest_pause_s
    return remaining_s, min(remaining_s, *others) - slack_s, max(remaining_s, *others) + slack_s


def _change(curve: Curve) -> float | None:
    paces = curve.paces(_CHANGE_PARTS)
    least, most = [*accumulate(paces, min)], [*accumulate(paces, max)]  # up to each part, and from it on
    least_after, most_after = [*accumulate(paces[::-1], min)][::-1], [*accumulate(paces[::-1], max)][::-1]
    best, found = 0.0, None
    for index in range(_CHANGE_BEFORE, _CHANGE_PARTS - _CHANGE_AFTER + 1):
        distance = max(least_after[index] - most[index - 1], least[index - 1] - most_after[index])
        if distance > best and distance > _CHANGE * min(mean(paces[:index]), mean(paces[index:])):
            best, found = distance, index + 1  # the first part after the change may hold some of the old pace
    return None if found is None else curve.units[0] + found * curve.span_units / _CHANGE_PARTS


def _drift(curve: Curve, rest: float) -> float:
    """Return the pace expected for the rest, as a multiple of that of the last half."""
    paces = curve.paces(_DRIFT_PARTS)[1:]  # the first part holds the start
    slope, offset, fit = _line(paces)
    if fit < _DRIFT_FIT or abs(slope) * len(paces) < _LEAST_DRIFT * mean(paces):
        return 1.0
    middle = len(paces) - 0.5 + rest / (curve.span_units / _DRIFT_PARTS) / 2
    least, most = _DRIFT_BOUNDS
    factor = (offset + slope * middle) / mean(paces[_DRIFT_PARTS // 2 - 1 :])
    return 1 + _DRIFT_SHARE * (min(most, max(least, factor)) - 1)


def _line(values: Sequence[float]) -> tuple[float, float, float]:
    middle, usual = (len(values) - 1) / 2, mean(values)
    spread = sum((index - middle) ** 2 for index in range(len(values)))
    slope = sum((index - middle) * (value - usual) for index, value in enumerate(values)) / spread
    variance = sum((value - usual) ** 2 for value in values)
    return slope, usual - slope * middle, slope**2 * spread / variance if variance else 0.0


def _confidence(forecast: _Forecast, past_s: float) -> Confidence:
    remaining_s, shortest_s, longest_s = forecast
    width_s = max(longest_s - remaining_s, remaining_s - shortest_s)
    # once half is done, compare with half the run: a few seconds near the end are no reason for doubt
    whole_s = max(remaining_s, (past_s + remaining_s) / 2)
    if width_s <= _HIGH * whole_s:
        return Confidence.HIGH
    return Confidence.MEDIUM if width_s <= _MEDIUM * whole_s else Confidence.LOW


_MARGIN = 1.1  # of the longest expected run time
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86400
_STEPS_S = (  # up to this run time, a limit is a multiple of the step
    (_HOUR_S, 10 * _MINUTE_S),
    (6 * _HOUR_S, 30 * _MINUTE_S),
    (_DAY_S, _HOUR_S),
    (math.inf, 6 * _HOUR_S),
)


def limit_outlook(
    estimate: Estimate, started_s: float, deadline_s: float, now_s: float
) -> LimitOutlook | None:
    """Compare an estimate that has an end with the time limit of a job (Unix seconds)."""
    if estimate.remaining_s is None or estimate.shortest_s is None or estimate.longest_s is None:
        return None
    left_s = max(0.0, deadline_s - now_s)
    fits = True if estimate.longest_s <= left_s else False if estimate.shortest_s > left_s else None
    longest_s = max(0.0, now_s - started_s) + estimate.longest_s
    return LimitOutlook(
        fits=None if estimate.confidence is Confidence.LOW else fits,
        ends_s=now_s + estimate.remaining_s,
        time_left_s=left_s,
        sufficient_time=time_limit(_MARGIN * longest_s),
    )


def time_limit(duration_s: float) -> str:
    """Return ``duration_s``, rounded up, as a value for ``--time``: ``30:00``, ``5:30:00``, ``1-06:00``."""
    step_s = next(step_s for bound_s, step_s in _STEPS_S if duration_s <= bound_s)
    minutes = max(1, math.ceil(duration_s / step_s)) * step_s // _MINUTE_S
    days, rest = divmod(minutes, _DAY_S // _MINUTE_S)
    hours, minute = divmod(rest, 60)
    if days:
        return f"{days}-{hours:02}:{minute:02}"
    return f"{hours}:{minute:02}:00" if hours else f"{minute}:00"
