"""What a tracker says while its run goes on: alerts of the program, and contradictions; each is told once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jobmon_core.domain.finding import Severity
from jobmon_core.domain.humanize import number
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.tracker import RunStatus, Tracker, TrackerAlert, TrackerRun
from jobmon_core.domain.redaction import redacted

_MAX_TOLD = 200
_MAX_SHOWN = 5  # alerts of one look
_KEEP_IDS = (Tracker.WANDB, Tracker.MLFLOW)  # whose runs another process can go on with


class TrackerTold(NamedTuple):
    """What was told of the trackers of a run."""

    alerts: tuple[str, ...] = ()  # the ids of the latest
    ongoing: tuple[str, ...] = ()  # the ids of contradictions that hold


def tracker_alerts(
    told: TrackerTold, runs: Sequence[TrackerRun], since_s: float, now_s: float
) -> tuple[TrackerTold, list[Event]]:
    """Return what was told by now, and the alerts since ``since_s`` that are new."""
    events, alerts = list[Event](), list(told.alerts)
    for run in runs:
        new = [each for each in run.alerts if each.id not in alerts and (each.time_s or now_s) >= since_s]
        alerts += (each.id for each in new)
        events += _alert_events(run, new, now_s)
    return told._replace(alerts=tuple(alerts[-_MAX_TOLD:])), events


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


def contradicted(
    told: TrackerTold,
    runs: Sequence[TrackerRun],
    earlier: Sequence[TrackerRun],
    now_s: float,
    *,
    is_moving: bool,
) -> tuple[TrackerTold, list[Event]]:
    """Return what was told by now, and in what trackers contradict a running job, or do not any more.

    ``earlier`` are the runs of the attempt, or the execution, before, ``is_moving`` whether it made progress
    lately. It is only shown, without a message. A tracker that closed a run while its program goes on, e.g.
    to evaluate, contradicts nothing.
    """
    found = dict(_contradictions(runs, earlier, is_moving=is_moving))
    events = [
        Event(now_s, EventKind.TRACKER, text, subject=name, is_quiet=True)
        for name, text in found.items()
        if name not in told.ongoing
    ]
    events += (
        Event(
            *(now_s, EventKind.RECOVERED, "the tracker agrees again"),
            ended=EventKind.TRACKER,
            subject=name,
            is_quiet=True,
        )
        for name in told.ongoing
        if name not in found
    )
    return told._replace(ongoing=tuple(found)), events


def _contradictions(
    runs: Sequence[TrackerRun], earlier: Sequence[TrackerRun], *, is_moving: bool
) -> Iterator[tuple[str, str]]:
    for run in runs:
        title = run.tracker.label
        if run.status is RunStatus.CRASHED and is_moving:
            yield "tracker-lost-contact", f"{title} lost contact; the run goes on"
        before = {each.run_id for each in earlier if each.tracker is run.tracker and each.run_id}
        if run.tracker in _KEEP_IDS and before and run.run_id not in before:
            what = f"this attempt logs to run {run.run_id}, the one before to {' and '.join(sorted(before))}"
            yield "tracker-not-resumed", f"{title} did not resume: {what}"
