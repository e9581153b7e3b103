"""A warning about a run that has written nothing since its start."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.progress.events.event import EventKind
from jobmon_core.domain.progress.events.launch import Launch, launch_events
from jobmon_core.domain.progress.model import KnownProblems

SILENT = Launch(now_s=1060.0, started_s=1000.0, timeout_s=60.0, has_written=False)


def test_a_run_that_has_written_nothing_is_reported_once_and_so_is_its_first_output() -> None:
    assert launch_events(KnownProblems(), replace(SILENT, now_s=1059.0)) == (KnownProblems(), ())
    known, (event,) = launch_events(KnownProblems(), SILENT)
    assert (event.kind, event.text) == (
        EventKind.NO_OUTPUT,
        "started 1m ago, but has written nothing to its logs",
    )
    assert launch_events(known, replace(SILENT, now_s=1090.0)) == (known, ())
    known, (event,) = launch_events(known, replace(SILENT, now_s=1120.0, has_written=True))
    assert (event.kind, event.ended) == (EventKind.RECOVERED, EventKind.NO_OUTPUT)
    assert event.text == "has written the missing logs, 2m after its start"
    assert known == KnownProblems()


def test_without_a_time_from_the_user_nothing_is_reported() -> None:
    assert launch_events(KnownProblems(), replace(SILENT, now_s=1e6, timeout_s=None)) == (KnownProblems(), ())


def test_missing_workers_are_part_of_the_warning() -> None:
    some = replace(SILENT, has_written=True, workers=3, expected_workers=4)
    known, (event,) = launch_events(KnownProblems(), some)
    assert event.text == "started 1m ago, but only 3 of 4 workers have written a log"
    _, (event,) = launch_events(known, replace(some, workers=4))
    assert event.ended is EventKind.NO_OUTPUT
    assert launch_events(KnownProblems(), replace(some, workers=5)) == (KnownProblems(), ())


def test_a_requeued_run_is_reported_again() -> None:
    known, _ = launch_events(KnownProblems(), SILENT)
    later = replace(SILENT, started_s=5000.0, now_s=5030.0)
    assert launch_events(known, later) == (known, ())
    _, events = launch_events(known, replace(later, now_s=5060.0))
    assert [event.kind for event in events] == [EventKind.NO_OUTPUT]
