"""How urgent each message is."""

from __future__ import annotations

import pytest

from jobmon_core.domain.channels import Level, Route, Tone
from jobmon_core.domain.delivery.outbox import Message
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.logs.progress.events.event import WARNINGS, Event, EventKind
from jobmon_core.domain.messages.progress_alerts import level_of, with_progress_alerts
from jobmon_core.system.json_codec import from_json, to_json


@pytest.mark.parametrize(
    ("tone", "level"),
    [
        (Tone.FAILURE, Level.CRITICAL),  # crash, out of memory, time limit
        (Tone.ATTENTION, Level.WARNING),  # outcome unknown, doubtful success, stuck, outage
        (Tone.SUCCESS, Level.INFO),
        (Tone.CANCELLED, Level.INFO),
        (Tone.RESOLVED, Level.INFO),
    ],
)
def test_a_message_without_a_stated_level_has_the_usual_one_of_its_tone(tone: Tone, level: Level) -> None:
    message = Message("12/end", Route.ERROR, tone, "train (12) ended")
    assert message.level is level
    assert "level" not in to_json(message)  # as in the state files before version 0.6
    assert from_json(Message, to_json(message)).level is level


def test_the_level_of_a_message_is_saved() -> None:
    message = Message("12/x", Route.ERROR, Tone.ATTENTION, "x", stated_level=Level.CRITICAL)
    assert to_json(message)["level"] == "critical"
    assert from_json(Message, to_json(message)) == message


@pytest.mark.parametrize(
    ("kind", "subject", "level"),
    [
        (EventKind.LAUNCH_FAILED, "", Level.CRITICAL),
        (EventKind.ERROR, "cuda_oom.allocation", Level.CRITICAL),
        (EventKind.TROUBLE, "dead-worker", Level.CRITICAL),
        (EventKind.TROUBLE, "oom-kill", Level.CRITICAL),
        (EventKind.TROUBLE, "disk-full", Level.CRITICAL),
        (EventKind.TROUBLE, "memory-near-limit", Level.WARNING),
        (EventKind.TROUBLE, "idle-allocation", Level.WARNING),
        (EventKind.TROUBLE, "zombie-workers", Level.WARNING),
        (EventKind.TROUBLE, "gpu-hang", Level.WARNING),
        (EventKind.STALLED, "", Level.WARNING),
        (EventKind.SLOW, "", Level.WARNING),
        (EventKind.NO_OUTPUT, "", Level.WARNING),
        (EventKind.LAUNCHED, "", Level.INFO),
        (EventKind.CHECKPOINT, "", Level.INFO),
        (EventKind.RECOVERED, "", Level.INFO),
        (EventKind.MILESTONE, "", Level.PROGRESS),
    ],
)
def test_each_event_has_a_level(kind: EventKind, subject: str, level: Level) -> None:
    assert level_of(Event(1.0, kind, "text", subject=subject, is_critical=True)) is level


def test_an_error_or_a_worker_that_may_end_early_is_a_warning() -> None:
    assert level_of(Event(1.0, EventKind.ERROR, "KeyError", subject="python_exception")) is Level.WARNING
    assert level_of(Event(1.0, EventKind.TROUBLE, "a worker ended", subject="dead-worker")) is Level.WARNING
    assert level_of(Event(1.0, EventKind.ERROR, "no space", subject="disk_full.quota")) is Level.CRITICAL


def test_warnings_are_never_of_a_low_level() -> None:
    assert {level_of(Event(1.0, kind, "text")) for kind in WARNINGS} == {Level.WARNING, Level.CRITICAL}


def test_the_message_about_an_event_has_its_level() -> None:
    event = Event(200.0, EventKind.TROUBLE, "a worker ended", subject="dead-worker", is_critical=True)
    (entry,) = with_progress_alerts(WatchedJob("slurm-12-x", 12, 100.0), (event,), 210.0).outbox
    assert entry.message.level is Level.CRITICAL
