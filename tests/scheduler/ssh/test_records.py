"""The records of the jobs on hosts."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from jobmon_core.domain.node.hosts.model import HostJob, HostProcess
from jobmon_core.domain.node.telemetry.model import Node, Sample, Worker
from jobmon_core.scheduler.base import BackendResources
from jobmon_core.scheduler.ssh.records import HostRecords, latest_sample


@pytest.mark.parametrize("host", ["box", "ssh://me@box:2222", "me@box", "../box"])
def test_any_destination_of_ssh_has_files_of_its_own(tmp_path: Path, host: str) -> None:
    records = HostRecords(tmp_path / "ssh")
    records.folder.mkdir()
    records.create(HostJob(host=host))
    records.save_rows(host, "text")
    records.save_usage(host, Sample(at_s=1.0))
    records.save_boots(host, {"b": 1.0})
    assert (records.rows(host), records.usage(host).at_s) == ("text", 1.0)
    assert records.boots(host) == {"b": 1.0}
    assert len(list(records.folder.iterdir())) == 4
    assert list(tmp_path.iterdir()) == [records.folder]
    assert [job.host for _, job in records.jobs(host)] == [host]


def test_the_latest_figures_of_a_host_are_shown_with_the_process_of_the_job(tmp_path: Path) -> None:
    resources = BackendResources(lambda: tmp_path, lambda _: False, nullcontext)
    records = HostRecords(tmp_path)
    job = HostJob("box", "train", process=HostProcess(77, 1, "b"), command="python train.py")
    number = records.create(job).number
    assert latest_sample(resources, "box", number) is None
    usage = Sample(1000.0, node=Node("box", memory_total=64))
    records.save_usage("box", usage)
    found = latest_sample(resources, "box", number)
    assert found == Sample(1000.0, node=usage.node, workers=(Worker(77, "python train.py"),))
    former = {"at_s": 1000.0, "folder": "~", "memory_used": 5, "memory_limit": 9, "disk_size": 7, "gpus": []}
    (tmp_path / "box.usage.json").write_text(json.dumps(former))  # of version 0.9
    assert latest_sample(resources, "box", number) is None
