"""One monitor of a campaign: the real one, with a replayed cluster, a fast clock and a kill point."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
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
KILL_LOG, FREEZE_LOG, LATE_LOG = "kills", "freezes", "late"  # files in jobmon's home
_CLONE_NEWUTS = 0x04000000  # from sched.h; `os.unshare` needs Python 3.12
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
    """The jobs of one monitor, and where it kills or freezes itself; see `KillPoint`."""

    home: Path
    job_ids: tuple[str, ...]
    clock: FastClock
    seed: int
    kill_step: str
    passes: int
    freezes: bool = False  # instead of killing itself
    host: str = ""  # the name of the host that it believes to run on; empty: of this one


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


def move_to_host(name: str) -> None:
    """Give this process, and nothing else, another host name.

    Raises:
        OSError: this is not permitted here.
    """
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWUTS):
        raise OSError(ctypes.get_errno(), "this process may not have a host name of its own")
    socket.sethostname(name)


def run_monitor(spec: MonitorSpec, acquired: Connection) -> None:
    """Acquire the jobs, send their ids over ``acquired``, and monitor them until they end."""
    os.setsid()
    if spec.host:
        move_to_host(spec.host)
    home = Home(spec.home)
    locks = acquire_jobs(home, spec.job_ids)
    acquired.send(tuple(locks))
    acquired.close()
    if not locks:
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, Clock.WAKING)
    random = Random(f"{spec.seed} {os.getpid()}")  # noqa: S311 - chooses failures, not secrets
    log, late_log = home.root / (FREEZE_LOG if spec.freezes else KILL_LOG), home.root / LATE_LOG
    kill_point = KillPoint(random, spec.kill_step, spec.freezes, spec.passes, log, late_log, spec.clock)
    process_state = ProcessState(home, dict(locks))
    ctx = CampaignContext(home, NO_ENVIRONMENT, process_state, spec.clock)
    ctx.kill_point = kill_point
    main.run(ctx, process_state, lambda job_id, event: ctx.monitor_log(job_id).write(event))
