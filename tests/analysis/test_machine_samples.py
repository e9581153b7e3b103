"""The figures of machines without agents are kept like those of agents, and judged by the same rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.analysis.triage import add_machine_samples
from jobmon_core.domain.artifacts.disk import Disk
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.node.telemetry.model import Memory, Node, Sample, Worker
from jobmon_core.domain.node.triage.judge import judge
from jobmon_core.domain.node.triage.situation import NodeView, Situation
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.store import telemetry as telemetry_files
from jobmon_core.store.telemetry import TaskTelemetry

GB = 1 << 30
DISK = Disk(500 * GB, 1000 * GB, 9_999_990, 10_000_000, "box:/data")
USAGE = Sample(
    at_s=1000.0,
    node=Node("box", memory_total=64 * GB, memory_available=54 * GB),
    workers=(Worker(77, "python train.py"),),
    disks=(DISK,),
)
FULL = Memory(63 * GB, 64 * GB, source="cgroup of the host")


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        (USAGE, set()),
        (replace(USAGE, disks=(replace(DISK, free_bytes=GB),)), {"disk-full"}),
        (replace(USAGE, disks=(replace(DISK, free_inodes=1000),)), {"disk-full"}),
        (replace(USAGE, memory=FULL), {"memory-near-limit"}),
        (replace(USAGE, node=Node("box"), disks=()), set()),  # nothing is known
    ],
)
def test_a_full_disk_and_a_full_cgroup_are_found(usage: Sample, found: set[str]) -> None:
    samples = tuple(replace(usage, at_s=1000.0 + 30 * each, span_s=30.0) for each in range(60))
    situation = Situation(samples[-1].at_s, started_s=0.0, nodes=(NodeView("box", samples),))
    assert {verdict.name for verdict in judge(situation)} == found


def test_each_look_adds_one_sample_of_a_running_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task("", JobState.RUNNING, "RUNNING")
    job = WatchedJob("ssh-1-x", 1, 900.0, backend="ssh", cluster="box", tasks={"": task})
    telemetry = TaskTelemetry(tmp_path / "t")

    def look(at_s: float, job: WatchedJob = job) -> tuple[Sample, ...]:
        sample = replace(USAGE, at_s=at_s)
        add_machine_samples([job], lambda _: sample, lambda _job, _task: telemetry)
        return telemetry.history("box")

    assert [len(look(at_s)) for at_s in (1000.0, 1000.0, 1030.0)] == [1, 1, 2]
    assert telemetry.report("box").latest.disks[0].path == "box:/data"
    pending = replace(job, tasks={"": replace(task, state=JobState.PENDING)})
    assert len(look(1060.0, pending)) == 2
    monkeypatch.setattr(telemetry_files, "_MAX_ADDED_BYTES", 100)  # then the older half is dropped
    assert [(sample.at_s, sample.span_s) for sample in look(1090.0)] == [(1030.0, 30.0), (1090.0, 60.0)]
