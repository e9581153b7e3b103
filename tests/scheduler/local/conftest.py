from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.scheduler.local.client import LocalScheduler
from jobmon_core.scheduler.local.job_dir import all_folders
from jobmon_core.scheduler.local.machine import Life, Machine
from tests.scheduler.local.bench import KILL_WAIT_S, Bench
from tests.support.waiting import eventually


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    root, work = tmp_path / "state", tmp_path / "work"
    root.mkdir()
    work.mkdir()
    monkeypatch.chdir(work)
    for name in [name for name in os.environ if name.startswith(("SBATCH_", "SLURM_"))]:
        monkeypatch.delenv(name)
    yield Bench(root, work, LocalScheduler(root, kill_wait_s=KILL_WAIT_S))
    _end_all(root)


def _end_all(root: Path) -> None:
    """Leave no process behind, whatever the test came to."""
    for folder in all_folders(root):
        try:
            owner = folder.owner()
        except StateUnreadable:  # the test damaged it
            continue
        if owner is not None and owner.life(Machine.here()) is Life.ALIVE:
            os.kill(owner.pid, signal.SIGTERM)
            eventually(lambda owner=owner: owner.life(Machine.here()) is not Life.ALIVE)  # type: ignore[misc] # typed by its default
