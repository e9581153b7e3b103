"""Which events of a job's progress still hold."""

from __future__ import annotations

from collections.abc import Iterable

from jobmon_core.domain.progress.model import Event, EventKind

LASTING = (  # the worst first
    EventKind.STALLED,
    EventKind.NO_OUTPUT,
    EventKind.DIVERGED,
    EventKind.TIME_LIMIT,
    EventKind.SLOW,
)


def ongoing(events: Iterable[Event], task: str = "") -> tuple[EventKind, ...]:
    """Return what is wrong with a task now, the worst first, given the job's events, oldest first.

    A recovery ends what it names, or everything; so does a restart.
    """
    current: set[EventKind] = set()
    for event in events:
        if event.task not in ("", task):
            continue
        if event.kind in LASTING:
            current.add(event.kind)
        elif event.kind is EventKind.RESTARTED or (event.kind is EventKind.RECOVERED and not event.ended):
            current.clear()
        elif event.kind is EventKind.RECOVERED and event.ended:
            current.discard(event.ended)
    return tuple(kind for kind in LASTING if kind in current)
