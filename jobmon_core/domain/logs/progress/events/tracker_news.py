"""What a tracker says while its run goes on: alerts of the program, and contradictions; each is told once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.humanize import number
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.tracker import TrackerAlert, TrackerRun
from jobmon_core.domain.redaction import redacted

_MAX_TOLD = 200
_MAX_SHOWN = 5  # alerts of one look


class TrackerTold(NamedTuple):
    """What was told of the trackers of a run."""

    alerts: tuple[str, ...] = ()  # the ids of the latest
    ongoing: tuple[str, ...] = ()  # the ids of contradictions that hold


def tracker_news(
    told: TrackerTold, runs: Iterable[TrackerRun], found: Sequence[Finding], since_s: float, now_s: float
) -> tuple[TrackerTold, tuple[Event, ...]]:
    """Return what was told by now, and what is new: alerts since ``since_s``, and contradictions ``found``.

    A contradiction is only shown, without a message.
    """
    events: list[Event] = []
    known, alerts = set(told.alerts), list(told.alerts)
    for run in runs:
        new = [each for each in run.alerts if each.id not in known and (each.time_s or now_s) >= since_s]
        alerts += (each.id for each in new)
        events += _alert_events(run, new, now_s)
    holding = tuple(each.id for each in found)
    events += (
        Event(now_s, EventKind.TRACKER, each.text, subject=each.id, advice=each.advice, is_quiet=True)
        for each in found
        if each.id not in told.ongoing
    )
    for name in told.ongoing:
        if name not in holding:
            text = "the tracker agrees again"
            events.append(
                Event(now_s, EventKind.RECOVERED, text, ended=EventKind.TRACKER, subject=name, is_quiet=True)
            )
    return TrackerTold(tuple(alerts[-_MAX_TOLD:]), holding), tuple(events)


def _alert_events(run: TrackerRun, new: Sequence[TrackerAlert], now_s: float) -> Iterator[Event]:
    """Yield one event for the alerts of a level: a program may send hundreds."""
    for level in (Severity.CRITICAL, Severity.WARNING, Severity.INFO):
        texts = [_alert_text(each) for each in new if each.level is level]
        if not texts:
            continue
        *others, last = texts
        yield Event(
            now_s,
            EventKind.TRACKER_ALERT,
            f"{last}, and {number(len(others))} more" if others else last,
            subject="" if level is Severity.WARNING else level.name.lower(),
            is_critical=level is Severity.CRITICAL,
            evidence=tuple(texts[-_MAX_SHOWN:]) if others else (),
            title=f"An alert of the program in {run.tracker.label}",
            is_quiet=level is Severity.INFO,
        )


def _alert_text(alert: TrackerAlert) -> str:
    text = ": ".join(filter(None, (alert.title, alert.text)))
    return redacted(text if alert.step is None else f"{text} (step {number(alert.step)})")
