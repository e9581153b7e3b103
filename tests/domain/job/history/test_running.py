"""What a running task is told about itself beside earlier runs: rarely wrong, and once."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from jobmon_core.domain.job.history.baseline import LATE, SLOWER, Comparison, Usual, compared
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.logs.progress.events.event import Event, EventKind

FIVE = (1.0, 1.02, 0.98, 1.01, 0.99)
USUAL = Usual("step", FIVE, (2.0**34,) * 5, (20.0,) * 5, (600.0,) * 5, (60.0, 70.0, 80.0), (3600.0,) * 5)
START = Comparison(0.0, USUAL)


Look = tuple[HistoryRecord, float | None, tuple[str, ...]]


def seen(
    now_s: float,
    step_s: float | None = None,
    late_s: float | None = None,
    known: tuple[str, ...] = (),
    **figures: object,
) -> Look:
    run = HistoryRecord(12, 0, now_s, unit="step", step_s=step_s)._replace(**figures)  # type: ignore[arg-type]
    return run, late_s, known


def after(looks: Iterable[Look], before: Comparison = START) -> list[Event]:
    found: list[Event] = []
    for look in looks:
        before, events = compared(before, *look)
        found += events
    return found


def test_a_slow_run_is_told_once_with_the_five_values_and_what_to_do() -> None:
    (found,) = after(seen(at_s, 1.5) for at_s in range(900, 9000, 30))
    assert (found.kind, found.subject, found.title) == (EventKind.SLOW, SLOWER, "Slower than usual")
    assert found.text == (
        "slower than usual: 1.5 s per step; the last 5 took 1 s, 1.02 s, 0.98 s, 1.01 s, 0.99 s"
    )
    assert "`jobmon diff JOBID`" in found.advice
    assert "`jobmon history JOBID`" in found.advice
    assert found.at_s == 1140  # it has lasted for a fifth of the time


def test_a_pace_that_is_slow_for_a_moment_is_not_told() -> None:
    assert not after(seen(at_s, 1.5 if at_s % 900 < 90 else 1.0) for at_s in range(900, 9000, 30))


def test_it_is_said_when_a_run_is_no_longer_slow_and_then_no_more() -> None:
    paces = [1.5] * 30 + [1.0] * 30 + [1.5] * 90
    events = after(seen(900 + 30 * number, pace) for number, pace in enumerate(paces))
    assert [(each.kind, each.ended, each.subject) for each in events] == [
        (EventKind.SLOW, None, SLOWER),
        (EventKind.RECOVERED, EventKind.SLOW, SLOWER),
    ]


def test_a_slowdown_that_its_own_past_shows_is_not_repeated() -> None:
    told = seen(1200, 1.5, known=(SLOWER,))
    assert not after([seen(900, 1.5), told, *(seen(at_s, 1.5) for at_s in range(1230, 9000, 30))])


def test_memory_gpus_and_the_wait_are_told_too() -> None:
    figures: dict[str, Any] = {"memory_peak": 2**35, "gpu_percent": 40.0, "started_s": 3600}
    events = after([seen(7200, **figures), seen(7800, **figures)])
    assert [each.kind for each in events] == [EventKind.UNUSUAL, EventKind.UNUSUAL, EventKind.LONG_WAIT]
    assert [each.title for each in events] == [
        "More memory than usual",
        "Less GPU than usual",
        "Longer wait than usual",
    ]
    assert events[1].text.startswith("leaves its GPUs idle for longer than usual: 60% of the time; ")


def test_a_late_start_is_told_with_the_usual_ones_and_its_end() -> None:
    looks = [seen(at_s, late_s=float(at_s)) for at_s in range(30, 600, 30)]
    events = after([*looks, seen(630)])
    assert [each.kind for each in events] == [EventKind.UNUSUAL, EventKind.RECOVERED]
    assert events[0].at_s == 300
    assert events[0].text == (
        "started 5m ago, but its log shows no progress; the last 3 runs of its name showed some after "
        "1m, 1m 10s, 1m 20s"
    )
    assert "three times the usual start" in events[0].advice
    assert events[1].ended is EventKind.UNUSUAL
    assert events[1].subject == LATE


def test_without_enough_runs_nothing_is_told() -> None:
    few = Usual("step", FIVE[:4], (1.0,) * 4, (1.0,) * 4, (1.0,) * 4, (1.0,) * 2)
    figures: dict[str, Any] = {"memory_peak": 2**35, "gpu_percent": 40.0, "started_s": 3600}
    assert not after([seen(7200, 9.0, 7200.0, **figures)], Comparison(0.0, few))


@pytest.mark.parametrize("noise", [0.03, 0.1, 0.15, 0.2, 0.4])
def test_however_often_a_run_is_looked_at_it_is_rarely_wrong(noise: float) -> None:
    draw = random.Random(1)  # noqa: S311 - a simulation
    wrong = sum(_is_told(draw, noise, 1.0) for _ in range(1500))
    assert wrong / 1500 <= 0.03


def test_a_run_that_takes_half_as_long_again_is_found() -> None:
    draw = random.Random(1)  # noqa: S311 - a simulation
    assert sum(_is_told(draw, 0.1, 1.5) for _ in range(300)) / 300 > 0.7


def _is_told(draw: random.Random, noise: float, factor: float) -> bool:
    """Return whether a run is called slow, whose pace so far wanders by 5 % around that of the whole."""
    *five, own = (draw.lognormvariate(0.0, noise) for _ in range(6))
    looks = (seen(at_s, factor * own * draw.lognormvariate(0.0, 0.05)) for at_s in range(900, 6300, 180))
    return bool(after(looks, Comparison(0.0, Usual("step", tuple(five)))))


def test_a_late_start_that_the_launch_has_told_is_not_repeated_either() -> None:
    told = seen(600, late_s=600.0, known=(LATE,))
    assert not after([told, seen(600, late_s=600.0), seen(630)])
