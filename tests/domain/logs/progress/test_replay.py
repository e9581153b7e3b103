"""Replay recorded runs: healthy ones raise no alarm, injected hangs and slowdowns are found in time."""

import statistics
from functools import cache
from pathlib import Path

import pytest

from benchmarks.alarms import (
    HANGS,
    INTERVAL_S,
    SLOWDOWNS,
    can_be_injected,
    false_alarms,
    hung,
    recording,
    replay,
    slowdown,
    stall,
)
from benchmarks.eta import read_trace
from benchmarks.timed_logs import Recording, read_timed_logs
from jobmon_core.domain.logs.progress.events.event import EventKind

DATA = Path(__file__).resolve().parents[5] / "shared" / "data"
TRACES = sorted((DATA / "eta_traces").glob("*.csv"))
# between 30 and 41 of its 55 minutes, this run needs 22 s a step, as its bar shows; before and after, 6 to 10
REALLY_SLOW = ("tqdm-sft-postfix", 1800.0, 2460.0)

in_one_worker = pytest.mark.xdist_group("timed logs")  # reading the logs takes long, once in a process

of_each_trace = pytest.mark.parametrize("run", TRACES, ids=lambda path: path.stem, indirect=True)
pytestmark = pytest.mark.skipif(not TRACES, reason=f"no recorded runs at {DATA}")


@cache
def recorded(path: Path) -> Recording:
    """Return the recording of a trace."""
    return recording(read_trace(path))


@pytest.fixture
def run(request: pytest.FixtureRequest) -> Recording:
    """The recording of the trace that the test names."""
    return recorded(request.param)


def in_parts(run: Recording) -> float:
    """Return an interval that suits short runs, whose monitor would look at them only a few times."""
    return run.duration_s / 200


@pytest.fixture
def logs() -> tuple[Recording, ...]:
    return read_timed_logs(DATA / "training_logs")


@of_each_trace
def test_a_healthy_trace_raises_no_alarm(run: Recording) -> None:
    assert false_alarms(run, in_parts(run)) == []
    assert false_alarms(run, INTERVAL_S) == []


@in_one_worker
def test_healthy_logs_raise_no_alarm(logs: tuple[Recording, ...]) -> None:
    slow, since_s, until_s = REALLY_SLOW
    alarms = {
        (run.name, every_s): found
        for run in logs
        for every_s in (in_parts(run), INTERVAL_S)
        if (found := false_alarms(run, every_s))
    }
    assert {name for name, _ in alarms} == {slow}
    for events in alarms.values():
        assert [event.kind for event in events] == [EventKind.SLOW]
        assert since_s < events[0].at_s < until_s


@of_each_trace
def test_the_milestones_of_a_run_are_reported(run: Recording) -> None:
    events = [event for event, _ in replay(run, in_parts(run))]
    last = [event.text for event in events if event.kind is EventKind.MILESTONE][-1]
    assert int(last.split("%")[0]) >= 90


@of_each_trace
@pytest.mark.parametrize("share", HANGS)
def test_a_hang_is_found_once_the_longest_usual_pause_is_over(run: Recording, share: float) -> None:
    delay = stall(hung(run, share), in_parts(run))
    assert delay is not None
    assert 0 <= delay <= 1


@pytest.mark.parametrize("share", SLOWDOWNS)
def test_slowdowns_of_30_percent_are_found_half_of_them_after_a_quarter_of_the_time_before(
    share: float,
) -> None:
    assert_found({run.name: slowdown(run, share, in_parts(run)) for run in map(recorded, TRACES)})


@in_one_worker
def test_slowdowns_are_found_by_looks_every_30_seconds(logs: tuple[Recording, ...]) -> None:
    runs = [run for run in (*map(recorded, TRACES), *logs) if can_be_injected(run, INTERVAL_S)]
    # the run that is left out has been as slow before
    assert_found({run.name: slowdown(run, 0.5, INTERVAL_S) for run in runs if run.name != REALLY_SLOW[0]})


def assert_found(delays: dict[str, float | None]) -> None:
    found = [delay for delay in delays.values() if delay is not None]
    assert [run for run, delay in delays.items() if delay is None] == []
    assert statistics.median(found) <= 0.26
    assert max(found) <= 1


@of_each_trace
def test_too_short_a_time_limit_is_reported_before_half_of_it_is_over(run: Recording) -> None:
    limit_s = 0.6 * run.duration_s
    events = [event for event, _ in replay(run, limit_s / 100, limit_s, limit_s)]
    alarms = [event.at_s for event in events if event.kind is EventKind.TIME_LIMIT]
    assert alarms
    assert alarms[0] <= limit_s / 2
