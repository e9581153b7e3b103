"""The remaining time of a running task, its workers and its problems as short texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.model import age, clock, span, stamp
from jobmon_core.app.jobs.find import Group
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.lifecycle.health import Health

if TYPE_CHECKING:
    from jobmon.views.top.drawing import Symbols
    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.domain.logs.progress.events.event import Event
    from jobmon_core.domain.logs.progress.model import Estimate

_WEEKDAY_IS_CLEAR_S = 6 * 86_400.0  # within it, a day of the week means one day only
_STALLED = "not known while it makes no progress"
WILL_TIME_OUT = "will time out"


def workers_count(live: LiveTask) -> str:
    """Return e.g. ``3 of 4``: how many workers have a log, and how many there should be.

    Unless the job configuration has `num_workers` and `log_files`, return only how many have a log, e.g.
    ``3``; empty if fewer than two have one.
    """
    settings, number_seen = live.job.settings, len(live.progress.workers)
    if settings and settings.num_workers and settings.log_files:
        return f"{number_seen} of {settings.num_workers}"
    if number_seen > 1:
        return str(number_seen)
    return ""


def problems(live: LiveTask) -> list[str]:
    """Return what is wrong with a running task now, the worst first, e.g. ``memory leak``, ``slow``."""
    return list(dict.fromkeys(_problem(event, live) for event in live.ongoing))


def _problem(event: Event, live: LiveTask) -> str:
    kind = event.kind
    if kind is EventKind.TIME_LIMIT:
        return WILL_TIME_OUT
    if kind is EventKind.TROUBLE and event.subject:
        return event.subject.replace("-", " ")
    settings, writing = live.job.settings, len(live.progress.workers)
    if (
        kind is EventKind.NO_OUTPUT
        and settings
        and settings.num_workers
        and 0 < writing < settings.num_workers
    ):
        return f"{settings.num_workers - writing} of {settings.num_workers} workers without a log"
    return kind


def progress_age(live: LiveTask, now_s: float) -> str:
    """Return e.g. ``, 12s ago``: how long ago a running task made its latest progress; empty if unknown."""
    samples = live.progress.history.samples
    if live.group is not Group.RUNNING or not samples:
        return ""
    return f", {age(max(0.0, now_s - samples[-1].at_s))} ago"


def remaining(live: LiveTask, symbols: Symbols, *, with_range: bool = True) -> str:
    """Return the remaining time, with its margin if wanted: ``1h 15m ±5m``, or why it is not known.

    Empty if the task is stalled or has no progress yet.
    """
    if live.progress.progress is None or EventKind.STALLED in live.problems:
        return ""
    left_s = _seconds_left(live)
    if left_s is None:
        return _why_unknown(live, paused="paused {}", no_total="no total")
    text = span(left_s)
    margin_s = margin(live.estimate)
    if not with_range or margin_s is None:
        return text
    return f"{text} {symbols.plus_minus}{age(margin_s)}"


def margin(found: Estimate) -> float | None:
    """Return how far the end may be from the estimate, in seconds; None if that is not known."""
    if found.remaining_s is None or found.shortest_s is None or found.longest_s is None:
        return None
    return max(found.longest_s - found.remaining_s, found.remaining_s - found.shortest_s, 0.0)


def finish(found: Estimate, now_s: float) -> str:
    """Return the remaining time, the time of the end, the range and the confidence, or "estimating"."""
    if found.remaining_s is None:
        return "estimating"
    return f"{span(found.remaining_s)} ({clock(now_s + found.remaining_s, now_s)}){certainty(found)}"


def certainty(found: Estimate) -> str:
    """Return the range of a remaining time, if it is known, and the confidence; each follows a comma."""
    confidence = f", {found.confidence} confidence"
    if found.shortest_s is None or found.longest_s is None:
        return confidence
    return f", {span(found.shortest_s)} to {span(found.longest_s)}{confidence}"


def eta(live: LiveTask, now_s: float) -> str:
    """Return when a task will end as `finish` does, or why it is not known."""
    if EventKind.STALLED in live.problems:
        return _STALLED
    if _seconds_left(live) is None:
        return _why_unknown(live, paused="not known: no progress for {}", no_total="not known: no total")
    return finish(live.estimate, now_s)


def ending(live: LiveTask, now_s: float, symbols: Symbols) -> str:
    """Return the remaining time, the time of the end and the confidence, or why they are not known."""
    if EventKind.STALLED in live.problems:
        return _STALLED
    left_s = _seconds_left(live)
    if left_s is None:
        no_total = "not known, since the log names no total"
        return _why_unknown(live, paused="not known, since there was no progress for {}", no_total=no_total)
    at = moment(now_s + left_s, now_s)
    return f"{remaining(live, symbols)} ({at}), {live.estimate.confidence} confidence"


def _seconds_left(live: LiveTask) -> float | None:
    """Return the estimated time to the end; None if it is not known, or all steps are done."""
    progress = live.progress.progress
    if progress and progress.fraction == 1.0:
        return None
    return live.estimate.remaining_s


def _why_unknown(live: LiveTask, *, paused: str, no_total: str) -> str:
    """Return why the remaining time is not known, or that all steps are done."""
    progress = live.progress.progress
    if progress and progress.fraction == 1.0:
        return "not ended yet"
    if live.pause_s is not None:
        return paused.format(span(live.pause_s))
    if not (progress and progress.total):
        return no_total
    if live.status.health in (Health.ALIVE, Health.REMOTE):
        return "estimating"
    return "not watched"


def moment(at_s: float, now_s: float) -> str:
    """Return a time as ``14:05``, ``Tue 08:00`` or ``2026-12-24 08:00``, in local time."""
    if stamp(at_s, "%F") == stamp(now_s, "%F"):
        return stamp(at_s, "%H:%M")
    is_near = abs(at_s - now_s) < _WEEKDAY_IS_CLEAR_S
    return stamp(at_s, "%a %H:%M" if is_near else "%Y-%m-%d %H:%M")
