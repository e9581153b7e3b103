"""What changes from look to look, and how thresholds are set."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.telemetry.model import Cpu, Memory, Node, Sample, WorkerStatus
from jobmon_core.domain.node.triage.judge import advised_for, judge, triage_events
from jobmon_core.domain.node.triage.state import Thresholds, TriageState
from tests.support.situations import GIB, gpu, names, sample, situation, trouble, worker

QUIET = trouble("endless-loop", "it loops", is_quiet=True)
LOUD = trouble("endless-loop", "it loops")


def quiet(*looks: Event | None) -> list[bool]:
    """Return of each event of a verdict whether it is only shown; looks follow each other after an hour."""
    state, found = TriageState(), list[bool]()
    for number, verdict in enumerate(looks, start=1):
        now = situation(None, 60.0 * number)
        state, events = triage_events(state, now, () if verdict is None else (verdict,))
        found += [event.is_quiet for event in events if not event.ended]
    return found


def test_a_verdict_that_comes_back_is_only_shown() -> None:
    assert quiet(LOUD, LOUD, None, LOUD) == [False, True]


def test_a_verdict_that_was_only_shown_is_reported_once_it_is_worth_a_message() -> None:
    assert quiet(QUIET, LOUD) == [True, False]
    assert quiet(QUIET, None, LOUD) == [True, False]


def test_nothing_is_over_because_no_worker_is_left() -> None:
    verdict = trouble("zombie-workers", "zombies")
    zombies = situation(sample([worker(rank, 0, status=WorkerStatus.ZOMBIE) for rank in range(2)]))
    state, _ = triage_events(TriageState(), zombies, (verdict,))
    for later in (zombies, replace(zombies, nodes=()), situation(sample(), 60)):
        after = replace(later, now_s=zombies.now_s + 7200)
        assert triage_events(state, after, ())[1] == ()
    alive = situation(sample(), 180)
    assert [event.text for event in triage_events(state, alive, ())[1]] == [
        "zombie workers: no longer, for 2h now"
    ]


def node(busy: float, received: float = 1e3) -> Node:
    return Node("n1", 16, 30.0, busy, 0.0, 128 * GIB, 64 * GIB, received, 1e3)


LOADING = sample([worker(0, 150.0)], [gpu(0, 8.0)], node=node(50.0, 30e6), cpu=Cpu(8.0, 150.0))
SPINNING = sample([worker(0)], [gpu(0, 100.0, power_w=150)])
CROWDED = sample(node=node(95.0), cpu=Cpu(8.0, 100.0))
THROTTLED = sample([worker(0, threads=100)], cpu=Cpu(4.0, 390.0, 40.0, threads=100))
SET = sample([worker(0, omp_threads=40, threads=40)], cpu=Cpu(8.0, 700.0, threads=40))
IDLE = sample([worker(0, 3.0), worker(1, 3.0)])


@pytest.mark.parametrize(
    ("of_minute", "stuck_minutes", "name", "other"),
    [
        (LOADING, None, "network-bound", Thresholds(network_mb_per_s=40)),
        (SPINNING, 15, "gpu-hang", Thresholds(low_power_percent=25)),
        (CROWDED, None, "noisy-neighbour", Thresholds(node_full_percent=98)),
        (THROTTLED, None, "thread-oversubscription", Thresholds(throttled_percent=50)),
        (SET, None, "thread-oversubscription", Thresholds(threads_per_core=6)),
        (IDLE, 15, "deadlock", Thresholds(idle_cpu_percent=1)),
    ],
)
def test_a_threshold_can_be_set(
    of_minute: Sample, stuck_minutes: float | None, name: str, other: Thresholds
) -> None:
    found = situation(of_minute, stuck_minutes=stuck_minutes)
    assert name in names(found)
    assert name not in names(replace(found, thresholds=other))


_OF_SLURM = ("--mem", "--exclu", "scancel", "more cores")


@pytest.mark.parametrize(
    ("measured", "steps"),
    [
        (sample(memory=Memory(31 * GIB, 32 * GIB)), True),
        (sample([worker(0, 150)], node=Node("n1", 16, 40.0, 99.0)), True),
        (sample([worker(0, 0.2)], [gpu(0, 0.0)]), False),
        (sample([worker(0, 790)], [gpu(0, 5.0)]), True),
    ],
)
def test_the_advice_about_a_local_job_names_no_option_of_slurm(measured: Sample, *, steps: bool) -> None:
    verdicts = judge(situation(measured, steps=steps))
    assert verdicts
    assert any(word in each.advice for each in advised_for(verdicts, "slurm") for word in _OF_SLURM)
    for backend in ("local", "process"):
        advised = advised_for(verdicts, backend)
        assert all(each.advice for each in advised)
        assert not [each for each in advised for word in _OF_SLURM if word in each.advice]
