"""The records of the jobs on hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.domain.node.hosts.model import HostJob
from jobmon_core.domain.node.telemetry.model import Sample
from jobmon_core.scheduler.ssh.records import HostRecords


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
