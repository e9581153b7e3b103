"""Which jobs on a host are looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.node.hosts.model import HostJob
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.ssh.client import SshScheduler
from jobmon_core.scheduler.ssh.records import HostRecords


def test_a_job_is_dropped_only_once_nobody_watches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state file that cannot be read now does not say so."""
    monkeypatch.setenv("PATH", "")  # no ssh: what is looked at is not known
    ctx = Context.open({"HOME": str(tmp_path), "JOBMON_HOME": str(tmp_path / "jobmon")})
    resources = ctx.backend_resources("ssh")
    folder = HostRecords(resources.folder()).create(HostJob(host="box", registered_s=1.0, boot_id="b"))
    state_file = ctx.store.path(f"ssh-{folder.number}-20260101T000000")
    state_file.parent.mkdir(parents=True, exist_ok=True)
    state_file.write_text("{damaged")
    assert isinstance(SshScheduler(resources, "box").ask_queue(""), Unreachable)
    assert not folder.load().is_dropped
    state_file.unlink()
    assert not isinstance(SshScheduler(resources, "box").ask_queue(""), Unreachable)
    assert folder.load().is_dropped
