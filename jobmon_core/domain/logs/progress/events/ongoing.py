"""What is wrong with the progress of a job now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.humanize import duration
from jobmon_core.domain.logs.progress.events.event import Event, EventKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmon_core.domain.logs.progress.model import History

LASTING = (  # the worst first
    EventKind.STALLED,
    EventKind.LAUNCH_FAILED,
    EventKind.ERROR,
    EventKind.NO_OUTPUT,
    EventKind.DIVERGED,
    EventKind.TROUBLE,
    EventKind.TIME_LIMIT,
    EventKind.SLOW,
    EventKind.UNUSUAL,
    EventKind.TRACKER,
)

_MIN_SAMPLES = 3  # with fewer, nothing is known about pauses
# a pause is unusual if it is longer than 90 s, and than so many times the longest and the median pause
_UNUSUAL_S, _UNUSUAL_LONGEST, _UNUSUAL_MEDIAN = 90.0, 1.5, 5.0


def unusual_pause_s(history: History, now_s: float) -> float | None:
    """Return for how long a run has made no progress, if unusually long: its end cannot be estimated then."""
    if len(history.samples) < _MIN_SAMPLES:
        return None
    idle_s = now_s - history.samples[-1].at_s
    usual_s = max(_UNUSUAL_LONGEST * history.longest_pause_s, _UNUSUAL_MEDIAN * history.median_pause_s)
    return idle_s if idle_s > max(_UNUSUAL_S, usual_s) else None


def ongoing(events: Iterable[Event], task: str = "") -> tuple[EventKind, ...]:
    """Return the kinds of `ongoing_events`."""
    return tuple(dict.fromkeys(event.kind for event in ongoing_events(events, task)))


def ongoing_events(events: Iterable[Event], task: str = "") -> tuple[Event, ...]:
    """Return what is wrong with a task now, the worst first; ``events`` are the job's, oldest first.

    A recovery ends the events of the kind, and of the subject, that it names; a restart ends everything.
    """
    current: dict[tuple[EventKind, str], Event] = {}
    for event in events:
        if event.task not in ("", task):
            continue
        if event.kind in LASTING:
            current[event.kind, event.subject] = event
        elif event.kind is EventKind.RESTARTED or (event.kind is EventKind.RECOVERED and not event.ended):
            current.clear()
        elif event.kind is EventKind.RECOVERED:
            current = {key: each for key, each in current.items() if not ends(event, each)}
    return tuple(sorted(current.values(), key=lambda event: LASTING.index(event.kind)))


def brought_up_to(event: Event, now_s: float) -> Event:
    """Return an event that still lasts, with the durations in its text up to ``now_s``."""
    text, evidence, passed_s = event.text, event.evidence, max(0.0, now_s - event.at_s)
    for lasting_s in event.lasting_s:
        then, now = duration(lasting_s), duration(lasting_s + passed_s)
        text, evidence = text.replace(then, now), tuple(line.replace(then, now) for line in evidence)
    return replace(event, text=text, evidence=evidence)


def ends(recovery: Event, event: Event) -> bool:
    """Whether a recovery is from this event of the same task."""
    is_kind = recovery.kind is EventKind.RECOVERED and recovery.ended in (None, event.kind)
    return is_kind and recovery.subject in ("", event.subject)
