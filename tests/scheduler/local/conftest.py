from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.scheduler.local import submit
from jobmon_core.scheduler.local.client import LocalScheduler
from jobmon_core.scheduler.local.job_dir import all_job_dirs
from jobmon_core.system.process import ProcessId, ProcessStatus
from tests.scheduler.local.harness import KILL_WAIT_S, LocalHarness
from tests.support.waiting import eventually


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHarness]:
    root, work = tmp_path / "state", tmp_path / "work"
    root.mkdir()
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(submit, "KILL_WAIT_S", KILL_WAIT_S)
    for name in [name for name in os.environ if name.startswith(("SBATCH_", "SLURM_"))]:
        monkeypatch.delenv(name)
    yield LocalHarness(root, work, LocalScheduler(root))
    _end_all(root)


def _end_all(root: Path) -> None:
    """End the jobs that the test left running."""
    for folder in all_job_dirs(root):
        try:
            owner = folder.owner()
        except StateUnreadable:  # the test damaged it
            continue
        if owner is not None and _runs(owner):
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(owner.pid, signal.SIGTERM)
            eventually(lambda owner=owner: not _runs(owner))  # type: ignore[misc] # typed by its default


def _runs(owner: ProcessId) -> bool:
    return owner.status(ProcessId.current()) is ProcessStatus.RUNNING
