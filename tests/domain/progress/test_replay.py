"""Replay recorded runs: healthy ones raise no alarm, injected hangs and slowdowns are found in time."""

import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.eta import Trace, read_traces
from jobmon_core.domain.progress.estimate import estimate
from jobmon_core.domain.progress.health import Observation, progress_events, stall_after_s
from jobmon_core.domain.progress.history import add_sample
from jobmon_core.domain.progress.limit import limit_outlook
from jobmon_core.domain.progress.model import Event, EventKind, Health, History, Progress

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "data" / "eta_traces"
TRACES = read_traces(FOLDER) if FOLDER.is_dir() else []
ALARMS = {EventKind.STALLED, EventKind.SLOW, EventKind.TIME_LIMIT}

pytestmark = pytest.mark.skipif(not TRACES, reason=f"the recorded traces are not at {FOLDER}")


def replay(trace: Trace, until_s: float, limit_s: float, poll_s: float) -> Iterator[tuple[Event, History]]:
    """Yield the events that a monitor sees which asks every ``poll_s`` seconds."""
    history, health, samples = History(), Health(), iter(trace.samples)
    pending = next(samples, None)
    now_s = 0.0
    while (now_s := now_s + poll_s) < until_s:
        while pending is not None and pending.at_s <= now_s:
            history = add_sample(history, pending)
            pending = next(samples, None)
        current = history.samples[-1].current if history.samples else 0.0
        seen = Observation(
            now_s,
            Progress(current, 1.0),
            history,
            limit_outlook(estimate(history, 1.0, now_s), 0.0, limit_s, now_s),
            idle_sign="the log has not grown either",  # the worst case: every pause looks like a stall
        )
        health, events = progress_events(health, seen)
        yield from ((event, history) for event in events)


def slowed(trace: Trace, from_s: float, factor: float) -> Trace:
    """Return the trace with ``factor`` times the duration from ``from_s`` on."""
    late_s = [max(0.0, sample.at_s - from_s) for sample in trace.samples]
    delay_s = [(factor - 1) * late for late in late_s]
    samples = zip(trace.samples, delay_s, strict=True)
    return Trace(trace.name, tuple(replace(sample, at_s=sample.at_s + delay) for sample, delay in samples))


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
def test_a_healthy_run_raises_no_alarm(trace: Trace) -> None:
    duration_s = trace.duration_s
    events = [event for event, _ in replay(trace, duration_s, 1.3 * duration_s, duration_s / 200)]
    assert [event for event in events if event.kind in ALARMS] == []
    assert [event.text.split(" %")[0] for event in events if event.kind is EventKind.MILESTONE][-1] == "90"


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
@pytest.mark.parametrize("share", [0.3, 0.7])
def test_a_hang_is_found_once_the_longest_usual_pause_is_over(trace: Trace, share: float) -> None:
    kept = [sample for sample in trace.samples if sample.at_s <= share * trace.duration_s]
    hung, hung_s = Trace(trace.name, tuple(kept)), kept[-1].at_s
    bound_s, poll_s = max(300, 0.5 * trace.duration_s), max(10, trace.duration_s / 200)
    events = list(replay(hung, hung_s + bound_s + 2 * poll_s, 1e9, poll_s))
    stalls = [(event, history) for event, history in events if event.kind is EventKind.STALLED]
    assert len(stalls) == 1
    stall, history = stalls[0]
    assert 0 <= stall.at_s - hung_s - stall_after_s(history) <= poll_s


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
@pytest.mark.parametrize("share", [0.35, 0.5, 0.7])
def test_a_slowdown_of_30_percent_is_found_before_the_run_ends(trace: Trace, share: float) -> None:
    onset_s = share * trace.duration_s
    slow = slowed(trace, onset_s, 1 / 0.7)
    events = replay(slow, slow.duration_s, 1e9, slow.duration_s / 200)
    found = [event.at_s for event, _ in events if event.kind is EventKind.SLOW]
    assert len(found) == 1
    assert onset_s < found[0]


def test_half_of_the_slowdowns_are_found_within_15_percent_of_the_time_before() -> None:
    delays = []
    for trace in TRACES:
        slow = slowed(trace, trace.duration_s / 2, 1 / 0.7)
        events = replay(slow, slow.duration_s, 1e9, slow.duration_s / 200)
        found_s = next(event.at_s for event, _ in events if event.kind is EventKind.SLOW)
        delays.append(found_s / (trace.duration_s / 2) - 1)
    assert statistics.median(delays) <= 0.15
    assert max(delays) <= 0.8


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
def test_too_short_a_time_limit_is_reported_before_half_of_it_is_over(trace: Trace) -> None:
    limit_s = 0.6 * trace.duration_s
    events = replay(trace, limit_s, limit_s, limit_s / 100)
    alarms = [event.at_s for event, _ in events if event.kind is EventKind.TIME_LIMIT]
    assert alarms
    assert alarms[0] <= limit_s / 2
