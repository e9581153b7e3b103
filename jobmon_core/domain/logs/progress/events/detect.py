"""Detect events in the progress of a run; a problem is reported again only after a recovery or a restart."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from jobmon_core.domain.humanize import duration, plural
from jobmon_core.domain.logs.progress import figures
from jobmon_core.domain.logs.progress.curve import Curve, median
from jobmon_core.domain.logs.progress.events.event import STALL_CANCELLED, Event, EventKind
from jobmon_core.domain.logs.progress.model import History, KnownProblems, LimitOutlook, Progress

_NEWEST = 3  # their median counts: a single spike is normal
_MIN_PAST = 20
# the bound: the median of the past, plus so many distances between its 10th and 90th percentile, plus this
# share of that median, since the past may hardly vary
_SPREADS = 4
_SHARE = 0.5
_LOWEST, _HIGHEST = 0.1, 0.9

MILESTONES = (25, 50, 75, 90)  # %
_STALL_FLOOR_S, _STALL_LONGEST_FACTOR, _STALL_MEDIAN_FACTOR = 300.0, 3, 10
_MIN_SAMPLES = 3  # with fewer, nothing is known about pauses
_SLOWER_PERCENT = 20.0
_WORST_PACE_FACTOR = 1.08  # a slow run is slower than its slowest earlier pace by this factor
_MIN_LASTING_SHARE = 0.1  # of the run time, for which a slowdown or expected timeout must last
_SKIPPED_STEPS = 2  # with automatic loss scaling, so many have no finite gradient norm


@dataclass(frozen=True, slots=True)
class Observation:
    """What is known about a run at one moment."""

    now_s: float
    progress: Progress
    history: History
    outlook: LimitOutlook | None = None
    idle_sign: str = ""  # e.g. "nothing was written to its logs for 12m"
    quiet_s: float = 0.0  # for which nothing was written
    # set by the user
    stall_timeout_s: float | None = None  # replaces `stall_after_s`
    stall_is_failure_s: float | None = None  # after it, the job is cancelled
    slowdown_percent: float | None = None  # to be reported
    has_finished_workers: bool = False  # so that the sum grows more slowly


def progress_events(previous: KnownProblems, seen: Observation) -> tuple[KnownProblems, tuple[Event, ...]]:
    """Return the problems from now on, and what is new."""
    samples = seen.history.samples
    if not samples:
        return previous, ()
    events: list[Event] = []
    known = previous
    if previous.run_started_s != samples[0].at_s:
        known = KnownProblems(
            run_started_s=samples[0].at_s,
            milestone=_milestone(seen.progress),
            overdue_start_s=previous.overdue_start_s,
        )
        if previous.run_started_s is not None:
            events.append(
                Event(seen.now_s, EventKind.RESTARTED, f"started again ({figures.position(seen.progress)})")
            )
    for problem, detect in _DETECTORS.items():
        known, kind, text = detect(known, seen) or (known, None, "")
        if kind is EventKind.STALLED:
            subject = STALL_CANCELLED if known.stall_is_failure else ""
            lasting_s = seen.now_s - samples[-1].at_s, seen.quiet_s
            events.append(Event(seen.now_s, kind, text, subject=subject, lasting_s=lasting_s))
        elif kind:
            ended = problem if kind is EventKind.RECOVERED else None
            events.append(Event(seen.now_s, kind, text, ended=ended))
    return known, tuple(events)


def stall_after_s(history: History) -> float:
    """Return after how long without progress a run may have stalled."""
    return max(
        _STALL_FLOOR_S,
        _STALL_LONGEST_FACTOR * history.longest_pause_s,
        _STALL_MEDIAN_FACTOR * history.median_pause_s,
    )


# the problems from now on, and the kind and the text of a new event
_Change = tuple[KnownProblems, EventKind | None, str] | None


def _detect_stall(known: KnownProblems, seen: Observation) -> _Change:
    last_s = seen.history.samples[-1].at_s
    position = figures.position(seen.progress)
    if known.stalled_since_s is not None:
        if last_s <= known.stalled_since_s:
            return _detect_failure(known, seen, seen.now_s - last_s)
        pause = duration(last_s - known.stalled_since_s)
        text = f"moves again after {pause} without progress ({position})"
        return replace(known, stalled_since_s=None, stall_is_failure=False), EventKind.RECOVERED, text
    idle_s = seen.now_s - last_s
    at_end = seen.progress.fraction == 1.0 or seen.progress.end_marker  # no progress is logged after this
    pauses_unknown = len(seen.history.samples) < _MIN_SAMPLES and not seen.stall_timeout_s
    if (
        at_end
        or pauses_unknown
        or not seen.idle_sign
        or idle_s < (seen.stall_timeout_s or stall_after_s(seen.history))
    ):
        return None
    text = f"no progress for {duration(idle_s)} ({position}); {seen.idle_sign}"
    return replace(known, stalled_since_s=last_s), EventKind.STALLED, text


def _detect_failure(known: KnownProblems, seen: Observation, idle_s: float) -> _Change:
    """Whether neither progress nor output came for as long as the user allows."""
    limit_s, is_silent = seen.stall_is_failure_s, bool(seen.idle_sign)
    if limit_s is None or known.stall_is_failure or not is_silent or min(idle_s, seen.quiet_s) < limit_s:
        return None
    position = figures.position(seen.progress)
    text = f"no progress for longer than the {duration(limit_s)} that you allow ({position})"
    return replace(known, stall_is_failure=True), EventKind.STALLED, text


def _detect_slowdown(known: KnownProblems, seen: Observation) -> _Change:
    paces = compare_paces(seen.history, seen.progress.total)
    if paces is None or seen.has_finished_workers:
        return None
    factor = 1 / (1 - (seen.slowdown_percent or _SLOWER_PERCENT) / 100)
    if known.usual_pace is None:
        return _slowdown(known, seen, paces, factor)
    if max(paces.now, paces.newest) > (1 + factor) / 2 * known.usual_pace:
        return None
    text = f"back to its usual speed ({_pace(paces.now, seen.progress.unit)})"
    return replace(known, usual_pace=None), EventKind.RECOVERED, text


def _slowdown(known: KnownProblems, seen: Observation, paces: Paces, factor: float) -> _Change:
    """Check a run that is not reported as slow yet.

    It is once both recent paces have exceeded the bound for long: ``factor`` times its usual pace, or
    slightly above the worst of its earlier stretches if that is more.
    """
    # keep the bound of the first slow observation: later, the slowdown is among the earlier stretches
    bound = known.slow_bound or max(factor * paces.usual, _WORST_PACE_FACTOR * paces.worst)
    if max(paces.now, paces.newest) <= bound:
        return replace(known, slow_since_s=None, slow_bound=None), None, ""
    if min(paces.now, paces.newest) <= bound:
        return None  # the slowdown neither begins nor ends
    if known.slow_since_s is None:
        return replace(known, slow_since_s=seen.now_s, slow_bound=bound), None, ""
    if not _has_lasted(known.slow_since_s, seen):
        return None
    share, unit = 1 - paces.best / paces.now, seen.progress.unit
    text = (
        f"{100 * share:.0f}% slower than its best ({_pace(paces.now, unit)}, best {_pace(paces.best, unit)})"
    )
    healthy = replace(known, slow_since_s=None, slow_bound=None)
    return replace(healthy, usual_pace=paces.usual), EventKind.SLOW, text


def _detect_limit(known: KnownProblems, seen: Observation) -> _Change:
    outlook = seen.outlook
    if outlook is None or outlook.fits is None or outlook.time_left_s <= 0:  # Slurm is about to end it
        return None
    is_late = not outlook.fits
    if is_late is known.too_late:  # nothing has changed since the last report
        return replace(known, late_since_s=None), None, ""
    if not known.too_late and known.late_since_s is None:
        return replace(known, late_since_s=seen.now_s), None, ""
    if known.late_since_s is not None and not _has_lasted(known.late_since_s, seen):
        return None
    needed, left = duration(outlook.ends_s - seen.now_s), duration(outlook.time_left_s)
    if outlook.fits:
        text = f"will end before its time limit after all (in about {needed}; the limit is in {left})"
        return replace(known, too_late=False), EventKind.RECOVERED, text
    text = (
        f"will need about {needed} more, but the time limit ends it in {left}; "
        f"`--time={outlook.sufficient_time}` would be enough"
    )
    return replace(known, too_late=True, late_since_s=None), EventKind.TIME_LIMIT, text


def _has_lasted(since_s: float, seen: Observation) -> bool:
    return seen.now_s - since_s >= _MIN_LASTING_SHARE * (seen.now_s - seen.history.samples[0].at_s)


def _detect_divergence(known: KnownProblems, seen: Observation) -> _Change:
    losses = [sample.loss for sample in seen.history.samples if sample.loss is not None]
    norms = [sample.grad_norm for sample in seen.history.samples if sample.grad_norm is not None]
    position = figures.position(seen.progress)
    if known.diverged:
        if not (is_below(losses, known.loss_bound) and is_below(norms, known.grad_norm_bound)):
            return None
        healthy = replace(known, diverged=False, loss_bound=None, grad_norm_bound=None)
        return healthy, EventKind.RECOVERED, f"no longer diverges ({position})"
    loss, norm = bound_exceeded(losses), bound_exceeded(norms)
    if is_not_finite(losses, 1):
        text = f"the loss is {losses[-1]:g} ({position})"
    elif is_not_finite(norms, _SKIPPED_STEPS + 1):
        text = f"the gradient norm is {norms[-1]:g} ({position})"
    elif loss is not None:
        text = (
            f"the loss is far above its earlier values: {losses[-1]:.4g}, usually below {loss:.4g} "
            f"({position})"
        )
    elif norm is not None:
        text = (
            f"the gradient norm is far above its earlier values: {norms[-1]:.4g}, "
            f"usually below {norm:.4g} ({position})"
        )
    else:
        return None
    return replace(known, diverged=True, loss_bound=loss, grad_norm_bound=norm), EventKind.DIVERGED, text


def _detect_milestone(known: KnownProblems, seen: Observation) -> _Change:
    milestone = _milestone(seen.progress)
    if milestone <= known.milestone:
        return None
    done = f"{math.floor(100 * (seen.progress.fraction or 0.0))}% done"
    text = done if seen.progress.unit == "%" else f"{done} ({figures.position(seen.progress)})"
    return replace(known, milestone=milestone), EventKind.MILESTONE, text


_DETECTORS: dict[EventKind, Callable[[KnownProblems, Observation], _Change]] = {
    EventKind.STALLED: _detect_stall,
    EventKind.SLOW: _detect_slowdown,
    EventKind.TIME_LIMIT: _detect_limit,
    EventKind.DIVERGED: _detect_divergence,
    EventKind.MILESTONE: _detect_milestone,
}


def _milestone(progress: Progress) -> int:
    done = 100 * (progress.fraction or 0.0)
    return max((milestone for milestone in MILESTONES if milestone <= done), default=0)


def _pace(seconds: float, unit: str) -> str:
    if seconds >= 1 or seconds <= 0:
        return f"{seconds:.3g} s per {unit}"
    return f"{1 / seconds:.3g} {plural(unit)} per s"


def is_not_finite(values: Sequence[float], newest: int) -> bool:
    """Whether each of the ``newest`` values is nan or infinite."""
    return len(values) >= newest and not any(map(math.isfinite, values[-newest:]))


def bound_exceeded(values: Sequence[float]) -> float | None:
    """Return the bound, from the recent past, that the median of the newest values exceeds."""
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
    """Whether the newest values are finite and, in the median, not above ``bound``."""
    newest = values[-_NEWEST:]
    return all(map(math.isfinite, newest)) and (bound is None or not newest or median(newest) <= bound)


_MIN_PACE_SAMPLES = 8
_MIN_S, _MIN_SHARE = 600.0, 0.1  # a run is judged after this time, or this share of its units
# of the newest stretch, at least: a single pause is no slowdown
_WINDOW = 0.15  # share of the elapsed time
_LONGEST_PAUSES, _USUAL_PAUSES = 2, 3  # times the longest and the median pause
_LEAST_S = 15.0
_PARTS = 6  # of a window: the median of their paces ignores pauses
_STRIDE = 0.25  # from one earlier window to the next, as a share of one
_MIN_EARLIER = 5
_START = 0.1  # this share of the units, at the start, does not count


@dataclass(frozen=True, slots=True)
class Paces:
    """Seconds per unit in the newest stretch of a run, and in earlier ones with as many units."""

    now: float
    newest: float  # in the second half of that stretch
    best: float
    usual: float
    worst: float


def compare_paces(history: History, total: float | None) -> Paces | None:
    """Compare the pace of a run of ``total`` units with its own past, once there is enough of that."""
    curve = Curve.of(history)
    if curve is None or len(curve.units) < _MIN_PACE_SAMPLES:
        return None
    if curve.span_s < _MIN_S and (total is None or curve.span_units < _MIN_SHARE * total):
        return None
    end, width = curve.units[-1], _window(curve, history)
    start = curve.units[0] + _START * curve.span_units
    if width <= 0:
        return None
    earlier = _paces(curve, width, start, end - width)
    if len(earlier) < _MIN_EARLIER:
        return None
    now, newest = _pace_until(curve, width, end), _pace_until(curve, width / 2, end)
    return Paces(now, newest, min(earlier), median(earlier), max(earlier))


def _window(curve: Curve, history: History) -> float:
    pauses_s = max(_LONGEST_PAUSES * history.longest_pause_s, _USUAL_PAUSES * history.median_pause_s)
    window_s = max(_WINDOW * curve.span_s, pauses_s, _LEAST_S)
    return curve.units[-1] - curve.units_at(curve.times_s[-1] - window_s)


def _paces(curve: Curve, width: float, start: float, end: float) -> list[float]:
    """Return the paces of stretches with a sample in them: without one, the counter may have jumped."""
    count = int((end - start - width) / (_STRIDE * width)) + 1
    ends = [end - index * _STRIDE * width for index in range(max(0, count))]
    return [
        _pace_until(curve, width, each)
        for each in ends
        if bisect_right(curve.units, each - width) < bisect_left(curve.units, each)
    ]


def _pace_until(curve: Curve, width: float, end: float) -> float:
    times_s = curve.times_at([end - width * index / _PARTS for index in range(_PARTS + 1)])
    return median([(until_s - since_s) * _PARTS / width for until_s, since_s in itertools.pairwise(times_s)])
