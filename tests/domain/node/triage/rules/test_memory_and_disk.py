"""Memory and disks that fill up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from jobmon_core.domain.artifacts.disk import Disk
from jobmon_core.domain.artifacts.model import Artifacts, Outputs
from jobmon_core.domain.node.telemetry.model import Memory, Sample
from jobmon_core.domain.node.triage.judge import judge
from jobmon_core.domain.node.triage.state import Thresholds
from tests.support.situations import GIB, gpu, names, sample, situation


def memory(used_gib: float, limit_gib: float = 32, kills: int = 0) -> Sample:
    """Return a sample with this memory."""
    return sample(memory=Memory(int(used_gib * GIB), int(limit_gib * GIB), kills, "cgroup v2"))


def test_a_leak_is_found_with_the_time_when_the_limit_is_reached() -> None:
    leaking = situation(lambda minute: memory(4 + minute * 0.1))
    (verdict,) = judge(leaking)
    assert (verdict.name, verdict.is_critical, verdict.is_quiet) == ("memory-leak", True, False)
    assert verdict.text == "its memory grows by 6.0 GiB/h: full in 3h 40m"


def test_a_leak_that_the_end_forestalls_is_only_shown() -> None:
    leaking = situation(lambda minute: memory(4 + minute * 0.1))
    (verdict,) = judge(replace(leaking, limit_s=leaking.now_s + 3600))
    assert (verdict.is_critical, verdict.is_quiet) == (False, True)


def test_a_leak_of_a_program_that_shows_no_steps_is_only_shown() -> None:
    (verdict,) = judge(situation(lambda minute: memory(4 + minute * 0.1), steps=False, log_idle_s=None))
    assert verdict.is_quiet


@pytest.mark.parametrize(
    "used_gib",
    [
        lambda minute: 20.0 + (minute % 7),  # steps that take and return memory
        lambda minute: 10.0 if minute > 25 else minute * 0.4,  # a cache that is full
        lambda minute: 28 * (1 - 0.93**minute),  # one that fills ever more slowly
        lambda minute: 10.0 + 8 * (minute > 50),  # one more buffer
    ],
)
def test_memory_that_a_program_fills_once_is_no_leak(used_gib: Callable[[float], float]) -> None:
    for minutes in range(5, 61):
        assert "memory-leak" not in names(situation(lambda minute: memory(used_gib(minute)), minutes))


def test_a_leak_needs_half_an_hour_and_no_agent_means_no_leak() -> None:
    assert names(situation(lambda minute: memory(4 + minute * 0.1), 15)) == []
    assert names(situation(None)) == []


def test_memory_near_its_limit_is_critical_and_the_share_can_be_set() -> None:
    near = situation(memory(30))
    (verdict,) = judge(near)
    assert (verdict.name, verdict.is_critical) == ("memory-near-limit", True)
    assert "94% of its memory (30.0 GiB of 32.0 GiB)" in verdict.text
    assert names(replace(near, thresholds=Thresholds(memory_percent=95))) == []


def test_a_killed_process_is_reported_for_ever() -> None:
    killed = situation(lambda minute: memory(8, kills=int(minute > 20)))
    (verdict,) = judge(killed)
    assert (verdict.name, verdict.is_permanent, verdict.is_critical) == ("oom-kill", True, True)


def test_kills_from_before_the_job_are_not_its_own() -> None:
    assert names(situation(memory(8, kills=3))) == []


def test_a_jump_in_the_memory_of_a_gpu_is_only_shown() -> None:
    def at(minute: float) -> Sample:
        return sample(gpus=[gpu(3, memory=int((60 if minute >= 60 else 20) * GIB))])

    (verdict,) = judge(situation(at))
    assert (verdict.name, verdict.is_quiet) == ("memory-spike", True)
    assert verdict.text == "GPU 3 jumped to 60.0 GiB (usually 20.0 GiB)"


def disk(free_gib: float, free_inodes: int = 900_000) -> Sample:
    """Return a sample with this room on a disk of 200 GiB."""
    return sample(disks=(Disk(int(free_gib * GIB), 200 * GIB, free_inodes, 1_000_000, "/scratch"),))


def test_a_disk_that_fills_is_reported_before_it_is_full() -> None:
    (verdict,) = judge(situation(lambda minute: disk(160 - minute)))
    assert (verdict.name, verdict.is_critical) == ("disk-full", False)
    assert verdict.text == "100.0 GiB (50.0%) free on /scratch, full in 1h 40m"
    assert names(situation(lambda minute: disk(160 - minute), limit_s=0)) == []


def test_a_disk_with_little_room_is_critical_bytes_and_inodes_alike() -> None:
    for low in (disk(15), disk(150, 50_000)):
        (verdict,) = judge(situation(low))
        assert (verdict.name, verdict.is_critical) == ("disk-full", True)
    assert names(situation(sample(disks=(Disk(8 * 10**14, 10**16, path="/s"),)))) == []


def test_a_disk_that_is_nearly_full_comes_before_one_that_still_fills() -> None:
    def disks(minute: float) -> Sample:
        full = Disk(15 * GIB, 200 * GIB, 900_000, 1_000_000, "/home")
        filling = Disk(int((160 - minute) * GIB), 200 * GIB, 900_000, 1_000_000, "/scratch")
        return sample(disks=(filling, full))

    (verdict,) = judge(situation(disks))
    assert verdict.text == "15.0 GiB (7.5%) free on /home"
    assert verdict.is_critical


def test_without_an_agent_the_disk_of_the_outputs_is_judged_by_bytes_and_inodes() -> None:
    def verdicts(room: Disk) -> list[str]:
        artifacts = Artifacts(outputs=Outputs("/w/out"), disk=room)
        return [verdict.text for verdict in judge(replace(situation(sample()), artifacts=artifacts))]

    assert verdicts(Disk(2**40, 2**41, 10**6, 10**7)) == []
    assert verdicts(Disk(8 * 2**40, 100 * 2**40)) == []  # a small share of a very large disk
    assert verdicts(Disk(5 * 2**30, 200 * 2**30)) == ["5.0 GiB (2.5%) free on /w/out"]
    assert verdicts(Disk(2**40, 2**41, 50, 10**7)) == ["50 inodes (0.0%) free for further files on /w/out"]


def test_single_checkpoints_do_not_fill_a_disk() -> None:
    assert names(situation(lambda minute: disk(150 if minute < 57 else 110))) == []


def test_of_a_huge_disk_the_bytes_decide_and_both_limits_can_be_set() -> None:
    huge = situation(sample(disks=(Disk(200 * GIB, 10**15, path="/s"),)))
    assert names(huge) == []
    assert names(replace(huge, thresholds=Thresholds(disk_free_gb=500))) == ["disk-full"]
    low = situation(disk(15))
    assert names(replace(low, thresholds=Thresholds(disk_free_gb=10))) == []
    assert names(replace(low, thresholds=Thresholds(disk_free_percent=5))) == []


def test_the_time_within_which_a_leak_counts_can_be_set() -> None:
    leaking = situation(lambda minute: memory(4 + minute * 0.1))
    assert names(replace(leaking, thresholds=Thresholds(memory_full_within_s=7200))) == []
    assert names(replace(leaking, thresholds=Thresholds(memory_full_within_s=14_400))) == ["memory-leak"]


def gpu_memory(used_gib: float, others: int | None = 0) -> Sample:
    """Return a sample with one GPU of 80 GiB whose memory is used so far."""
    return sample(gpus=[gpu(0, memory=int(used_gib * GIB), other_processes=others)])


def test_a_leak_on_a_gpu_is_found_with_the_time_when_it_is_full() -> None:
    (verdict,) = judge(situation(lambda minute: gpu_memory(20 + minute * 0.25)))
    assert (verdict.name, verdict.is_critical, verdict.is_quiet) == ("gpu-memory-leak", True, False)
    assert verdict.text == "the memory of GPU 0 grows by 15.0 GiB/h: full in 3h"
    assert verdict.evidence == ("GPU 0: 35.0 GiB of 80.0 GiB", "growth: 7.2 GiB in 29m")


@pytest.mark.parametrize(
    "of_minute",
    [
        lambda minute: gpu_memory(20 + minute * 0.25, others=1),  # it may be theirs
        lambda minute: gpu_memory(20 + minute * 0.25, others=None),
        lambda minute: gpu_memory(20 + 30 * (1 - 0.93**minute)),  # a cache that fills ever more slowly
        lambda minute: gpu_memory(20 + 5 * (minute > 40)),
        lambda minute: gpu_memory(20 + minute % 9),
    ],
)
def test_other_growth_of_the_memory_of_a_gpu_is_no_leak(of_minute: Callable[[float], Sample]) -> None:
    assert "gpu-memory-leak" not in names(situation(of_minute))
