"""Tell whether a job will end before its time limit, and which ``--time`` would be enough."""

from __future__ import annotations

import math

from jobmon_core.domain.logs.progress.model import Confidence, Estimate, LimitOutlook

_MARGIN = 1.1  # of the longest expected run time
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86400
_STEPS_S = (  # run time, step: up to this run time, a limit is a multiple of the step
    (_HOUR_S, 10 * _MINUTE_S),
    (6 * _HOUR_S, 30 * _MINUTE_S),
    (_DAY_S, _HOUR_S),
    (math.inf, 6 * _HOUR_S),
)


def limit_outlook(
    estimate: Estimate, started_s: float, deadline_s: float, now_s: float
) -> LimitOutlook | None:
    """Compare the estimate made at ``now_s`` with the time limit of a job; None if the estimate has no end.

    Args:
        estimate: of the remaining time.
        started_s: when the job started, Unix time.
        deadline_s: when its time limit ends it, Unix time.
        now_s: Unix time.
    """
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
