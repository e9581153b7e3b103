from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.events.ongoing import (
    brought_up_to,
    ongoing,
    ongoing_events,
    unusual_pause_s,
)
from jobmon_core.domain.logs.progress.model import History, Sample

STALLED = Event(1.0, EventKind.STALLED, "no progress for 12m")
SLOW = Event(2.0, EventKind.SLOW, "31% below its best")


def test_the_worst_of_what_is_wrong_comes_first() -> None:
    assert ongoing([SLOW, STALLED]) == (EventKind.STALLED, EventKind.SLOW)
    assert ongoing([SLOW, SLOW]) == (EventKind.SLOW,)


def test_a_milestone_is_no_problem() -> None:
    assert ongoing([Event(1.0, EventKind.MILESTONE, "50%")]) == ()


def test_a_recovery_ends_what_it_names_or_everything() -> None:
    moves = Event(3.0, EventKind.RECOVERED, "it moves again", ended=EventKind.STALLED)
    assert ongoing([STALLED, SLOW, moves]) == (EventKind.SLOW,)
    assert ongoing([STALLED, SLOW, Event(3.0, EventKind.RECOVERED, "well again")]) == ()
    assert ongoing([STALLED, moves, STALLED]) == (EventKind.STALLED,)


def test_a_new_run_starts_without_problems() -> None:
    assert ongoing([STALLED, Event(3.0, EventKind.RESTARTED, "run 2")]) == ()


def test_an_event_belongs_to_one_task_or_to_all() -> None:
    events = [Event(1.0, EventKind.STALLED, "", task="3"), Event(2.0, EventKind.SLOW, "")]
    assert ongoing(events, "3") == (EventKind.STALLED, EventKind.SLOW)
    assert ongoing(events, "4") == (EventKind.SLOW,)


def test_a_pause_is_unusual_if_it_is_much_longer_than_those_before() -> None:
    samples = tuple(Sample(990.0 + 10 * number, number) for number in range(3))
    steps = History(samples=samples, longest_pause_s=10.0, median_pause_s=10.0)
    assert unusual_pause_s(steps, 1090.0) is None, "the monitor looks only every half minute"
    assert unusual_pause_s(steps, 1130.0) == 120.0
    epochs = History(samples=samples, longest_pause_s=300.0, median_pause_s=60.0)
    assert unusual_pause_s(epochs, 1400.0) is None
    assert unusual_pause_s(epochs, 1470.0) == 460.0
    assert unusual_pause_s(History(samples=samples[:2]), 1470.0) is None, "its first epoch may take long"


def test_events_with_different_subjects_are_over_one_by_one() -> None:
    leak = Event(100.0, EventKind.TROUBLE, "memory grows", subject="memory-leak")
    disk = Event(110.0, EventKind.TROUBLE, "the disk is almost full", subject="disk-full-soon")
    freed = Event(120.0, EventKind.RECOVERED, "", ended=EventKind.TROUBLE, subject="disk-full-soon")
    assert ongoing_events((leak, disk)) == (leak, disk)
    assert ongoing_events((leak, disk, freed)) == (leak,)
    assert ongoing_events((leak, disk, replace(freed, subject=""))) == ()


def test_the_durations_in_what_still_lasts_go_on() -> None:
    text = "no progress for 5m 15s (step 10 of 90); nothing was written to its logs for 5m"
    stalled = Event(
        1000.0, EventKind.STALLED, text, evidence=("nothing new for 5m",), lasting_s=(315.0, 300.0)
    )
    later = brought_up_to(stalled, 1000.0 + 22 * 60)
    assert later.text == ("no progress for 27m 15s (step 10 of 90); nothing was written to its logs for 27m")
    assert later.evidence == ("nothing new for 27m",)
    assert later.since_s == stalled.since_s == 685.0
    assert brought_up_to(STALLED, 1e6) == STALLED, "saved by a version that did not note what lasts"
