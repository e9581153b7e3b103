"""What the latest reports of agents show, in short."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.node.telemetry.model import AgentReport, Gpu, Memory, WorkerStatus
from jobmon_core.domain.node.telemetry.summary import (
    all_workers,
    fullest_memory,
    gpu_marks,
    gpu_summary,
    gpu_use,
    is_current,
    latest_reports,
    oom_kills,
    status_counts,
)
from tests.support.agent_reports import GIB, gpu, report, sample, worker
from tests.support.job_records import NOW_S


def test_a_report_is_current_until_three_intervals_were_missed() -> None:
    assert is_current(report(age_s=29.0), NOW_S)
    assert not is_current(report(age_s=31.0), NOW_S)
    assert is_current(replace(report(age_s=31.0), interval_s=10.0), NOW_S)
    assert not is_current(replace(report(), ended_s=NOW_S - 1), NOW_S)


def test_outdated_reports_count_only_if_there_are_no_others() -> None:
    old, new = report(age_s=900.0), report()
    assert latest_reports([old, new], NOW_S) == [new]
    assert latest_reports([old], NOW_S) == [old]


def test_gpus_of_all_nodes_are_summarised() -> None:
    other = report(sample((gpu(0, 50.0), Gpu(1)), node="n18"))
    found = gpu_summary([report(), other])
    assert found
    assert found.number == 6
    assert found.mean_percent == pytest.approx((3 * 92 + 1 + 50) / 5)
    assert found.lowest
    assert (found.lowest.node, found.lowest.gpu.index) == ("n17", 2)
    assert found.fullest
    assert found.fullest.gpu.index == 3
    assert found.power_w == 3 * 642 + 96 + 390
    assert gpu_summary([AgentReport()]) is None


def test_what_a_driver_does_not_offer_is_not_zero() -> None:
    found = gpu_summary([report(sample((Gpu(0, is_mig=True),)))])
    assert found
    assert (found.mean_percent, found.lowest, found.fullest, found.power_w) == (None, None, None, None)
    assert [*gpu_marks(Gpu(0, is_mig=True))] == []


@pytest.mark.parametrize(
    ("found", "marks"),
    [
        (gpu(0), []),
        (gpu(0, 1.0), ["idle"]),
        (replace(gpu(0, 0.0), own_pids=()), ["not used"]),
        (replace(gpu(0, 100.0), power_w=90.0, power_limit_w=700.0), ["busy at low power"]),
        (replace(gpu(0, 100.0), power_w=600.0, power_limit_w=700.0), []),
        (replace(gpu(0), throttle_reasons=("power cap",)), []),
        (replace(gpu(0), other_processes=2), ["2 other processes"]),
        (replace(gpu(0), throttle_reasons=("thermal", "power cap")), ["slowed down: thermal"]),
        (replace(gpu(0), xids=(79,), is_lost=True, ecc_errors=1), ["lost", "Xid 79", "1 ECC error"]),
    ],
)
def test_what_is_notable_about_a_gpu_is_marked(found: Gpu, marks: list[str]) -> None:
    assert [*gpu_marks(found)] == marks


def test_the_memory_closest_to_its_limit_counts() -> None:
    full = report(sample(node="n18", used_gib=63.0))
    found = fullest_memory([report(), full])
    assert found
    assert (found[0], found[1].share) == ("n18", 63 / 64)
    unlimited = replace(full, latest=replace(full.latest, memory=Memory(99 * GIB, oom_kills=2)))
    assert oom_kills([report(), unlimited]) == 2
    alone = fullest_memory([unlimited])
    assert alone
    assert alone[1].share is None


def test_workers_are_sorted_by_rank_and_counted_by_status() -> None:
    dead = replace(worker(0, WorkerStatus.DEAD), started_s=0.0)
    workers = all_workers([report(sample((), (worker(5), worker(None)))), report(sample((), (dead,)))])
    assert [each.worker.rank for each in workers] == [0, 5, None]
    assert [each.uptime_s for each in workers] == [None, 9227.0, 9227.0]
    assert status_counts(workers) == {WorkerStatus.DEAD: 1, WorkerStatus.RUNNING: 2}


def test_the_gpus_of_a_worker_are_those_of_its_node() -> None:
    first = report(sample((gpu(0, 10.0),), (worker(0),)))
    second = report(sample((gpu(0, 90.0), gpu(1, 70.0)), (replace(worker(1), gpus=(0, 1)),), node="n18"))
    of_first, of_second = all_workers([first, second])
    assert gpu_use(of_first, [first, second]) == (10.0, 60 * GIB)
    assert gpu_use(of_second, [first, second]) == (80.0, 121 * GIB)
