"""Report the failures that the logs of a running job show, each kind once in a run; withdraw survived ones.

One that ended no process may have been handled: it is reported only if the log then falls silent. To see what
follows, each is held back for `HOLD_S`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from jobmon_core.domain.logs.diagnosis.model import EarlierLog
from jobmon_core.domain.logs.progress.events.event import Event, EventKind

HOLD_S: Final = 10.0  # a program whose end follows gets one message
_MAX_GROWTHS = 20  # of a log, look by look: then the program goes on, e.g. with a bar
_SURVIVED_AFTER_S = 60.0  # the other ranks may finish a step after one has failed
_MAX_ORDINARY_LINES = 40  # as in `error_episodes`


@dataclass(frozen=True, slots=True)
class SearchedLog:
    """How far one log was searched for failures."""

    path: str
    offset: int = 0  # bytes; the line after it was not complete
    size: int = 0  # bytes
    inode: int | None = None
    earlier: EarlierLog | None = None  # what it held before this run


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure that a log shows."""

    event: Event  # that reports it
    log: str  # the path
    ended_process: bool  # no handler caught it
    may_be_consequence: bool  # of another failure


@dataclass(frozen=True, slots=True)
class Suspect:
    """A failure that is held back."""

    failure: Failure
    since_s: float  # Unix time
    current: float | None = None  # the progress by its log then
    growths: int = 0  # looks that found more text below it


@dataclass(frozen=True, slots=True)
class ReportedError:
    """A failure that was reported in this run."""

    subject: str  # the id of its pattern
    text: str
    log: str
    at_s: float
    current: float | None = None  # likewise
    lines: int = 0  # ordinary ones since then
    is_over: bool = False  # the program survived it


@dataclass(frozen=True, slots=True)
class ErrorWatch:
    """What is known of the failures in the logs of one task."""

    run_started_s: float | None = None
    logs: tuple[SearchedLog, ...] = ()
    suspect: Suspect | None = None
    reported: tuple[ReportedError, ...] = ()

    @property
    def recheck_s(self) -> float | None:
        """When to look again, before the next look is due (Unix seconds)."""
        if self.suspect is None or self.suspect.growths:
            return None
        return self.suspect.since_s + HOLD_S


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What one look at the logs of a task found."""

    now_s: float
    new_lines: Mapping[str, int] = field(default_factory=dict)  # of each log that has grown
    failing: frozenset[str] = frozenset()  # logs whose new text shows a failure
    found: Failure | None = None  # in one of these, or in the suspect's log if that has grown
    current: Mapping[str, float | None] = field(default_factory=dict)  # the progress by each log


def new_run(watch: ErrorWatch, now_s: float) -> tuple[ErrorWatch, tuple[Event, ...]]:
    """Return the watch for a new run, and the event that ends the errors of the last one."""
    is_ongoing = any(not each.is_over for each in watch.reported)
    events = (Event(now_s, EventKind.RESTARTED, "started again after an error"),) if is_ongoing else ()
    return ErrorWatch(logs=watch.logs), events


def error_events(watch: ErrorWatch, seen: SearchResult) -> tuple[ErrorWatch, tuple[Event, ...]]:
    """Return the watch to pass with the next result, and what is new."""
    watch, survived = _mark_survived(watch, seen)
    suspect = _suspect(watch, seen)
    if suspect is None or seen.now_s - suspect.since_s < HOLD_S:
        return replace(watch, suspect=suspect), survived
    failure = suspect.failure
    if not failure.ended_process and failure.log in seen.new_lines:  # it may have been handled
        return replace(watch, suspect=suspect), survived
    event = replace(failure.event, at_s=seen.now_s)
    current = seen.current.get(failure.log)
    reported = ReportedError(event.subject, event.text, failure.log, seen.now_s, current)
    watch = replace(watch, suspect=None, reported=(*watch.reported, reported))
    if seen.found and seen.found.log != failure.log and _is_new(seen.found, watch):
        watch = replace(watch, suspect=_new_suspect(seen.found, seen))
    return watch, (*survived, event)


def _suspect(watch: ErrorWatch, seen: SearchResult) -> Suspect | None:
    found = seen.found if seen.found and _is_new(seen.found, watch) else None
    before = watch.suspect
    if before and _is_survived(before, seen):
        if found and found.log == before.failure.log:
            found = None  # its new text shows no failure: this is the old one
        before = None
    if before is None:
        return _new_suspect(found, seen) if found else None
    if before.failure.log not in seen.new_lines:
        return before
    if found is None:
        return None
    growths = 0 if found.ended_process and not before.failure.ended_process else before.growths + 1
    return replace(before, failure=found, growths=growths)


def _new_suspect(failure: Failure, seen: SearchResult) -> Suspect:
    return Suspect(failure, seen.now_s, seen.current.get(failure.log))


def _is_new(failure: Failure, watch: ErrorWatch) -> bool:
    if any(each.subject == failure.event.subject for each in watch.reported):
        return False
    return not (failure.may_be_consequence and any(not each.is_over for each in watch.reported))


def _is_survived(suspect: Suspect, seen: SearchResult) -> bool:
    """Whether the program handled a failure that ended no process: it prints on or progresses."""
    failure = suspect.failure
    if failure.ended_process or failure.log not in seen.new_lines or failure.log in seen.failing:
        return False
    return suspect.growths + 1 >= _MAX_GROWTHS or _advanced(suspect.current, seen.current.get(failure.log))


def _mark_survived(watch: ErrorWatch, seen: SearchResult) -> tuple[ErrorWatch, tuple[Event, ...]]:
    after = tuple(each if each.is_over else _looked_at(each, seen) for each in watch.reported)
    events = tuple(
        Event(
            seen.now_s,
            EventKind.RECOVERED,
            f"goes on after an error: {new.text}",
            ended=EventKind.ERROR,
            subject=new.subject,
        )
        for old, new in zip(watch.reported, after, strict=True)
        if new.is_over and not old.is_over
    )
    return replace(watch, reported=after), events


def _looked_at(reported: ReportedError, seen: SearchResult) -> ReportedError:
    """A log that shows no progress is judged by its lines."""
    current = seen.current.get(reported.log)
    if current is not None:
        is_over = seen.now_s - reported.at_s >= _SURVIVED_AFTER_S and _advanced(reported.current, current)
        return replace(reported, is_over=is_over)
    new_lines = 0 if reported.log in seen.failing else seen.new_lines.get(reported.log, 0)
    lines = reported.lines + new_lines
    return replace(reported, lines=lines, is_over=lines > _MAX_ORDINARY_LINES)


def _advanced(before: float | None, current: float | None) -> bool:
    return before is not None and current is not None and current > before
