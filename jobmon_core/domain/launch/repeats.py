"""Spare the user a second message about what one has already said."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.progress.events.event import Event, EventKind
from jobmon_core.domain.progress.events.ongoing import ongoing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_DEAD_WORKER = "dead-worker"  # the subject of a verdict


def without_repeats(new: Iterable[Event], known: Iterable[Event], task: str) -> Iterator[Event]:
    """Yield the new events about a task; one that repeats a known event becomes quiet: it sends no message.

    A failed launch repeats the failure that the log shows; a dead worker repeats the failed launch.
    """
    problems = ongoing(known, task)
    for event in new:
        is_explained = event.kind is EventKind.LAUNCH_FAILED and EventKind.ERROR in problems
        is_missing = event.subject == _DEAD_WORKER and EventKind.LAUNCH_FAILED in problems
        is_repeat = event.kind is not EventKind.RECOVERED and (is_explained or is_missing)
        yield replace(event, is_quiet=True) if is_repeat else event
