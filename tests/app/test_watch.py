"""``jobmon watch`` of a job that the scheduler knows, with scripted answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.app.watch import watch
from jobmon_core.context import Context
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.rows import JobRow
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.store.home import Home
from jobmon_core.system.lock import command_lock
from tests.support.listing_starter import ListingStarter
from tests.support.scheduler import FakeScheduler


class InterruptedScheduler(FakeScheduler):
    """A scheduler that takes long to return a script, so that the user presses Ctrl-C."""

    def __init__(self, lock: Path) -> None:
        super().__init__()
        self.records = [(JobRow(JobRef(12), JobState.RUNNING, "RUNNING"),)]
        self._lock = lock

    def script_of(self, job_id: int) -> str:  # noqa: ARG002 - it never returns one
        with command_lock(self._lock, "jobmon watch", 0.1):  # another `jobmon watch` does not wait
            raise KeyboardInterrupt


class OneScheduler(Context):
    """A user's jobmon with one scheduler."""

    def scheduler(self, backend: str, cluster: str = "") -> InterruptedScheduler:  # noqa: ARG002 - the only one
        return InterruptedScheduler(self.home.monitors / "watch.lock")


def test_a_job_is_monitored_and_the_lock_is_free_before_its_script_is_recorded(tmp_path: Path) -> None:
    ctx = OneScheduler(Home(tmp_path), {})
    starter = ListingStarter(ctx)
    with pytest.raises(KeyboardInterrupt):
        watch(ctx, starter, JobRef(12), "slurm", LogPaths())
    assert starter.started == [ctx.store.find(JobRef(12))[-1].id]
