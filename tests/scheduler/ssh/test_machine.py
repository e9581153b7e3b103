"""What the latest look showed of the machine of a job."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

from jobmon_core.domain.node.hosts.model import HostJob, HostProcess
from jobmon_core.domain.node.telemetry.model import Node, Sample, Worker
from jobmon_core.scheduler.base import BackendResources
from jobmon_core.scheduler.ssh.machine import HostMachine
from jobmon_core.scheduler.ssh.records import HostRecords


def test_the_latest_figures_of_a_host_are_shown_with_the_process_of_the_job(tmp_path: Path) -> None:
    resources = BackendResources(lambda: tmp_path, lambda _: False, nullcontext)
    records = HostRecords(tmp_path)
    job = HostJob("box", "train", process=HostProcess(77, 1, "b"), command="python train.py")
    number = records.create(job).number
    assert HostMachine(resources, "box", number).sample() is None
    usage = Sample(1000.0, node=Node("box", memory_total=64))
    records.save_usage("box", usage)
    found = HostMachine(resources, "box", number).sample()
    assert found == Sample(1000.0, node=usage.node, workers=(Worker(77, "python train.py"),))
    former = {"at_s": 1000.0, "folder": "~", "memory_used": 5, "memory_limit": 9, "disk_size": 7, "gpus": []}
    (tmp_path / "box.usage.json").write_text(json.dumps(former))  # of version 0.9
    assert HostMachine(resources, "box", number).sample() is None
