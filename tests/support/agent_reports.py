"""Reports of agents, for tests of what shows them."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.node.telemetry.model import (
    AgentReport,
    Cpu,
    Gpu,
    Memory,
    Node,
    Sample,
    Worker,
    WorkerStatus,
)
from tests.support.job_records import NOW_S

GIB = 2**30
MIB = 2**20


def gpu(index: int, percent: float | None = 92.0) -> Gpu:
    """Return a GPU of 80 GiB that is used by one worker of the task."""
    used = percent or 0.0
    return Gpu(
        index,
        name="Fake H100",
        utilization_percent=percent,
        memory=(60 + index) * GIB,
        memory_total=80 * GIB,
        power_w=90 + 6 * used,
        power_limit_w=700.0,
        temperature_c=40 + used / 4,
        own_pids=(40_200 + index,),
        other_processes=0,
    )


def worker(rank: int | None, status: WorkerStatus = WorkerStatus.RUNNING) -> Worker:
    """Return a worker that uses the GPU with the number of its rank."""
    number = rank or 0
    return Worker(
        40_200 + number,
        "python train.py",
        rank,
        status,
        started_s=NOW_S - 9230,
        cpu_percent=103.4,
        memory=int((12.3 + number / 10) * GIB),
        threads=36,
        children=4,
        last_activity_s=NOW_S - 2,
        gpus=(number,),
    )


def sample(
    gpus: tuple[Gpu, ...] = (), workers: tuple[Worker, ...] = (), *, node: str = "n17", used_gib: float = 52.0
) -> Sample:
    """Return what an agent measured on a node of 16 cores, where the task may use 64 GiB."""
    return Sample(
        NOW_S - 3,
        5.0,
        Node(node, 16, 12.3, 91.0, 2.0, 256 * GIB, 128 * GIB, 1.2 * MIB, 3.0 * MIB),
        workers,
        gpus,
        Memory(int(used_gib * GIB), 64 * GIB, 0, "cgroup v2"),
        Cpu(16.0, 1520.0, 0.0),
    )


def report(latest: Sample | None = None, *, age_s: float = 3.0, now_s: float = NOW_S) -> AgentReport:
    """Return a report of this age; by default of four GPUs, of which GPU 2 is idle, and their workers."""
    if latest is None:
        gpus = tuple(gpu(index, 1.0 if index == 2 else 92.0) for index in range(4))
        latest = sample(gpus, tuple(worker(rank) for rank in range(4)))
    return AgentReport(replace(latest, at_s=now_s - age_s), now_s - 9000, 5.0)
