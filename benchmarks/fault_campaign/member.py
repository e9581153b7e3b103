"""One monitor of a campaign: the real one, with a replayed cluster, a fast clock and a kill point."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from benchmarks.fault_campaign.cluster import ReplayedCluster, ReplayedScheduler
from benchmarks.fault_campaign.kill_points import KillPoint, KillPointStore
from jobmon_core.context import Context
from jobmon_core.lifecycle.process_state import ProcessState
from jobmon_core.monitor import main
from jobmon_core.scheduler.base import Scheduler
from jobmon_core.scheduler.local.client import LocalScheduler
from jobmon_core.store.home import Home
from jobmon_core.store.jobs import JobStore
from jobmon_core.store.owner import acquire_jobs
from jobmon_core.system.clock import Clock, Wake

NO_ENVIRONMENT: Mapping[str, str] = {}
KILL_LOG, LATE_LOG = "kills", "late"  # files in jobmon's home
CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class FastClock(Clock):
    """The system clock, ``speed`` times as fast since ``epoch_s``; all waits of jobmon shorten with it."""

    epoch_s: float
    speed: float

    def now(self) -> float:
        """Return the time in Unix seconds."""
        return self.epoch_s + (time.time() - self.epoch_s) * self.speed

    def wait(self, seconds: float) -> Wake:
        """Wait for ``seconds`` of this clock."""
        return Clock().wait(seconds / self.speed)


@dataclass(frozen=True, slots=True)
class MonitorSpec:
    """The jobs of one monitor, and where it kills itself; see `KillPoint`."""

    home: Path
    job_ids: tuple[str, ...]
    clock: FastClock
    seed: int
    kill_step: str
    passes: int


class CampaignContext(Context):
    """jobmon's context with the replayed cluster and, in a monitor, its kill point."""

    kill_point: KillPoint | None = None

    @property
    def store(self) -> JobStore:
        """The state files."""
        return (
            KillPointStore(self.home.state, self.kill_point) if self.kill_point else JobStore(self.home.state)
        )

    def scheduler(self, backend: str, cluster: str = "") -> Scheduler:  # noqa: ARG002 - as in Context
        """Return the replayed cluster, or the real local scheduler."""
        if backend == "local":
            return LocalScheduler(self.home.backend_folder("local"))
        query = self.kill_point.query if self.kill_point else bool
        return ReplayedScheduler(ReplayedCluster(self.home.root / CLUSTER), query)


def run_monitor(spec: MonitorSpec, acquired: Connection) -> None:
    """Acquire the jobs, send their ids over ``acquired``, and monitor them until they end."""
    os.setsid()
    home = Home(spec.home)
    locks = acquire_jobs(home, spec.job_ids)
    acquired.send(tuple(locks))
    acquired.close()
    if not locks:
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, Clock.WAKING)
    random = Random(f"{spec.seed} {os.getpid()}")  # noqa: S311 - chooses failures, not secrets
    kill_log, late_log = home.root / KILL_LOG, home.root / LATE_LOG
    kill_point = KillPoint(random, spec.kill_step, spec.passes, kill_log, late_log, spec.clock)
    process_state = ProcessState(home, dict(locks))
    ctx = CampaignContext(home, NO_ENVIRONMENT, process_state, spec.clock)
    ctx.kill_point = kill_point
    main.run(ctx, process_state, lambda job_id, event: ctx.monitor_log(job_id).write(event))
