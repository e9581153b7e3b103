"""What a task used of its GPUs and nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.job.report.usage import (
    NodeHistory,
    energy_kwh,
    gpu_measures,
    gpu_uses,
    node_use,
    power,
    utilisation,
)
from jobmon_core.domain.node.telemetry.model import Cpu, Gpu, Memory, Sample
from tests.support.telemetry import GIB, Shape, make_samples

HOUR_S = 3600.0


def history(*gpus: Gpu, span_s: float = HOUR_S) -> NodeHistory:
    samples = [Sample((number + 1) * span_s, span_s, gpus=(gpu,)) for number, gpu in enumerate(gpus)]
    return NodeHistory("n1", tuple(samples))


def test_energy_is_power_over_the_time_of_each_sample() -> None:
    uses = gpu_uses([history(Gpu(0, power_w=500.0), Gpu(0, power_w=300.0))])
    assert energy_kwh(uses) == pytest.approx(0.8)
    assert uses[0].mean_power_w == pytest.approx(400)
    assert uses[0].highest_power_w == 500


def test_a_gap_adds_no_energy() -> None:
    first, second = history(Gpu(0, power_w=500.0), Gpu(0, power_w=500.0)).samples
    late = replace(second, at_s=second.at_s + 10 * HOUR_S)
    assert energy_kwh(gpu_uses([NodeHistory("n1", (first, late))])) == pytest.approx(1.0)


def test_what_is_not_available_is_not_zero() -> None:
    (use,) = gpu_uses([history(Gpu(0))])
    assert (use.mean_percent, use.highest_percent, use.memory_peak, use.energy_kwh) == (None,) * 4
    assert energy_kwh([use]) is None
    empty = node_use(NodeHistory("n1", (Sample(5.0, 5.0),)))
    assert (empty.cores, empty.mean_cores, empty.memory_peak, empty.memory_limit) == (None,) * 4


def test_peaks_are_those_of_single_looks() -> None:
    (use,) = gpu_uses(
        [history(Gpu(0, utilization_percent=50, highest_percent=93, memory=7), Gpu(0, memory=9))]
    )
    assert (use.mean_percent, use.highest_percent, use.memory_peak) == (50, 93, 9)


def test_errors_of_a_gpu_are_noted_once() -> None:
    broken = Gpu(0, xids=(79,), ecc_errors=3, throttle_reasons=("thermal",), other_processes=1, is_lost=True)
    (use,) = gpu_uses([history(broken, broken)])
    assert use.notes == (
        "lost",
        "Xid 79",
        "3 uncorrected ECC errors",
        "slowed down by thermal",
        "also used by processes outside the job",
    )


def test_a_node_is_summed_up() -> None:
    samples = [
        Sample(60.0, 60.0, memory=Memory(7 * GIB, 8 * GIB, 0), cpu=Cpu(4.0, 200.0, 0.0)),
        Sample(120.0, 60.0, memory=Memory(6 * GIB, 8 * GIB, 2), cpu=Cpu(4.0, 400.0, 10.0)),
    ]
    use = node_use(NodeHistory("n1", tuple(samples)))
    assert (use.mean_cores, use.highest_cores, use.throttled_percent) == (3.0, 4.0, 5.0)
    assert (use.memory_peak, use.memory_limit, use.oom_kills, use.measured_s) == (7 * GIB, 8 * GIB, 2, 120)


def test_figures_of_one_gpu_are_read_over_time() -> None:
    node = NodeHistory("n1", make_samples(shape=Shape(gpus=2, hours=0.1)))
    assert list(node.gpus()) == [0, 1]
    seen = node.gpus()[1]
    found = list(gpu_measures(seen, utilisation))
    assert len(found) == len(node.samples)
    assert all(each.low <= each.mean <= each.high for each in found)
    assert [each.mean for each in gpu_measures(seen, power)] == [
        each.gpus[1].power_w for each in node.samples
    ]
