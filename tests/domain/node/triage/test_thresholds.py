"""The thresholds that a job configuration may set: each moves its verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.node.telemetry.model import Cpu, Node, Sample
from jobmon_core.domain.node.triage.thresholds import Thresholds
from tests.support.situations import GIB, gpu, names, sample, situation, worker


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
