"""A program that is slower than its GPUs and cores allow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.artifacts.model import Artifacts, Checkpoints, ListedFile
from jobmon_core.domain.node.telemetry.model import Cpu, Node, Sample
from jobmon_core.domain.node.triage.judge import judge
from tests.support.situations import GIB, gpu, names, sample, situation, worker


def starved(busy: float = 8.0, cpu: float = 150.0, received: float = 1e3, read: float = 0.0) -> Sample:
    """Return a sample of one GPU that computes little."""
    node = Node("n1", 16, 8.0, 50.0, 0.0, 128 * GIB, 64 * GIB, received, 1e3)
    return sample([worker(0, cpu, read_per_s=read)], [gpu(0, busy)], node=node, cpu=Cpu(8.0, cpu))


@pytest.mark.parametrize(
    ("figures", "name"),
    [
        ({}, "data-loading"),
        ({"busy": 0.0, "read": 80e6}, "data-loading"),
        ({"cpu": 790.0}, "cpu-preprocessing"),
        ({"received": 90e6}, "network-bound"),
    ],
)
def test_a_gpu_that_waits_while_the_steps_advance(figures: dict[str, float], name: str) -> None:
    (verdict,) = judge(situation(starved(**figures)))
    assert (verdict.name, verdict.is_critical, verdict.is_quiet) == (name, False, False)
    assert verdict.advice


def test_work_in_bursts_is_found_too() -> None:
    bursts = sample(gpus=[gpu(0, 45.0, lowest_percent=0.0, highest_percent=100.0)])
    (verdict,) = judge(situation(bursts))
    assert verdict.text == "its GPUs are busy 45% of the time in bursts: they wait for data"


@pytest.mark.parametrize("busy", [45.0, 61.0, 95.0])
def test_a_gpu_that_mostly_computes_does_not_wait(busy: float) -> None:
    assert names(situation(starved(busy))) == []


def test_more_than_60_percent_is_healthy_gaps_or_not() -> None:
    assert names(situation(sample(gpus=[gpu(0, 61.0, lowest_percent=0.0, highest_percent=100.0)]))) == []


def test_a_gpu_without_figures_says_nothing() -> None:
    assert names(situation(sample(gpus=[gpu(0, 0.0, is_mig=True)]))) == []
    assert names(situation(sample(gpus=[gpu(0, utilization_percent=None)]))) == []


@pytest.mark.parametrize("minutes", [1, 3, 4])
def test_the_first_minutes_are_not_judged(minutes: int) -> None:
    assert names(situation(starved(), minutes)) == []


def test_a_short_pause_of_the_gpu_is_no_verdict() -> None:
    assert names(situation(lambda minute: starved(2 if minute > 57 else 95))) == []


def test_saving_that_takes_much_of_the_time_is_only_shown() -> None:
    def at(minute: float) -> Sample:
        saves = minute % 4 == 0
        return sample([worker(0, written_per_s=300e6 if saves else 0.0)], [gpu(0, 1.0 if saves else 95.0)])

    busy = situation(at)
    saved = Checkpoints("/out", 9, ListedFile("c", 9, busy.now_s - 60), interval_s=240.0)
    (verdict,) = judge(replace(busy, artifacts=Artifacts(busy.now_s, None, saved)))
    assert (verdict.name, verdict.is_quiet) == ("checkpoint-overhead", True)


@pytest.mark.parametrize(
    ("figures", "throttled"), [({"omp_threads": 64, "threads": 64}, None), ({"threads": 80}, 60.0)]
)
def test_many_threads_on_few_cores(figures: dict[str, int], throttled: float | None) -> None:
    crowded = sample([worker(0, 99.0, **figures)], cpu=Cpu(1.0, 99.0, throttled))
    (verdict,) = judge(situation(crowded))
    assert verdict.name == "thread-oversubscription"
    assert "OMP_NUM_THREADS=1" in verdict.advice


def test_many_threads_that_compute_are_found_whatever_they_were_told() -> None:
    children = sample([worker(0, 190.0, threads=1, children=16)], cpu=Cpu(2.0, 190.0, None, 17, 16.0))
    (verdict,) = judge(situation(children))
    assert verdict.name == "thread-oversubscription"
    assert verdict.text == "17 threads and processes share 2 cores"
    assert "threads that compute or wait for a core: 16" in verdict.evidence
    loaders = sample([worker(0, 190.0, children=16)], cpu=Cpu(2.0, 190.0, None, 17, 4.0))
    assert names(situation(loaders)) == []
    burst = situation(
        lambda minute: children if minute > 58 else replace(loaders, cpu=Cpu(2.0, 190.0, None, 17))
    )
    assert names(burst) == []


def test_one_thread_is_not_too_many_for_a_share_of_a_core() -> None:
    limited = sample([worker(0, 20.0, threads=1)], cpu=Cpu(0.1, 10.0, 90.0, 1, 1.0))
    assert names(situation(limited)) == []


def test_many_threads_that_mostly_wait_are_no_problem() -> None:
    pool = sample([worker(0, 99.0, threads=80)], cpu=Cpu(1.0, 99.0, 0.0))
    assert names(situation(pool)) == []
    idle = sample([worker(0, 20.0, threads=80, omp_threads=64)], cpu=Cpu(1.0, 20.0))
    assert names(situation(idle)) == []
