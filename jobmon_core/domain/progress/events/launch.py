"""Report a run that is late: it, or one of its workers, should have written to its log by now."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jobmon_core.domain.humanize import duration
from jobmon_core.domain.progress.events.event import Event, EventKind
from jobmon_core.domain.progress.model import KnownProblems


@dataclass(frozen=True, slots=True)
class Launch:
    """What is known about the start of a run at one moment."""

    now_s: float
    started_s: float
    timeout_s: float | None  # from the start to the first output; None if the user names no time
    has_written: bool  # to any log
    workers: int = 0  # those that have written to a log of their own
    expected_workers: int = 0  # 0: the user does not say how many, or which logs are theirs


def launch_events(previous: KnownProblems, seen: Launch) -> tuple[KnownProblems, tuple[Event, ...]]:
    """Return the known problems, and an event if this start has just become overdue or is not any more."""
    if seen.timeout_s is None:
        return previous, ()
    elapsed_s = seen.now_s - seen.started_s
    problem = _problem(seen)
    if previous.overdue_start_s is not None and not problem:
        text = f"has written the missing logs, {duration(elapsed_s)} after its start"
        event = Event(seen.now_s, EventKind.RECOVERED, text, ended=EventKind.NO_OUTPUT)
        return replace(previous, overdue_start_s=None), (event,)
    if not problem or elapsed_s < seen.timeout_s or previous.overdue_start_s == seen.started_s:
        return previous, ()
    event = Event(seen.now_s, EventKind.NO_OUTPUT, f"started {duration(elapsed_s)} ago, but {problem}")
    return replace(previous, overdue_start_s=seen.started_s), (event,)


def _problem(seen: Launch) -> str:
    """Return what is missing; empty if nothing is."""
    if not seen.has_written:
        return "has written nothing to its logs"
    if seen.workers < seen.expected_workers:
        return f"only {seen.workers} of {seen.expected_workers} workers have written a log"
    return ""
