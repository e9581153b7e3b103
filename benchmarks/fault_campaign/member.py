"""One monitor of a campaign: the real one, with a replayed cluster, a fast clock and perils on its way."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.fault_campaign.cluster import ReplayedScheduler, Stage
from benchmarks.fault_campaign.kill_points import Peril, PerilousStore
from jobmon_core.context import Context
from jobmon_core.lifecycle.process_state import ProcessState
from jobmon_core.monitor import main
from jobmon_core.scheduler.base import Scheduler
from jobmon_core.scheduler.local.client import LocalScheduler
from jobmon_core.store.home import Home
from jobmon_core.store.jobs import JobStore
from jobmon_core.system.clock import SystemClock, Wake


@dataclass(frozen=True, slots=True)
class FastClock:
    """The machine's clock, running ``speed`` times as fast since ``epoch_s``; so do all waits of jobmon."""

    epoch_s: float
    speed: float

    def now(self) -> float:
        """Return the time in Unix seconds."""
        return self.epoch_s + (time.time() - self.epoch_s) * self.speed

    def wait(self, seconds: float) -> Wake:
        """Sleep that much less."""
        return SystemClock().wait(seconds / self.speed)

    def cpu_s(self) -> float:
        """Return the CPU time of this process."""
        return SystemClock().cpu_s()


@dataclass(frozen=True, slots=True)
class Order:
    """What one monitor is to do, and what will become of it."""

    home: str
    job_ids: tuple[str, ...]
    epoch_s: float
    speed: float
    seed: int
    doom: str = ""
    passages: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class CampaignShop(Context):
    """The tools of a monitor, some of them perilous."""

    peril: Peril | None = None

    @property
    def store(self) -> JobStore:
        """The state files."""
        return PerilousStore(self.home.state, self.peril) if self.peril else JobStore(self.home.state)

    def scheduler(self, backend: str, cluster: str = "") -> Scheduler:  # noqa: ARG002 - as the workshop has it
        """Return the replayed cluster; the local scheduler is the real one."""
        if backend == "local":
            return LocalScheduler(self.home.local_jobs)
        asked = self.peril.asked if self.peril else bool
        return ReplayedScheduler(Stage(self.home.root / "stage"), asked)


def shop_of(home: Path, clock: FastClock) -> CampaignShop:
    """Return the tools of whoever looks on."""
    return CampaignShop(Home(home), NO_ENVIRONMENT, clock=clock)


NO_ENVIRONMENT: Mapping[str, str] = {}


def live(order: Order, held: Mapping[str, int]) -> None:
    """Follow jobs to their end, or to one's own."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SystemClock.WAKING)
    home = Home(Path(order.home))
    dice = Random(f"{order.seed} {os.getpid()}")  # noqa: S311 - as good a chance as any
    peril = Peril(dice, order.doom, order.passages, home.root / "deaths")
    clock = FastClock(order.epoch_s, order.speed)
    process_state = ProcessState(home, dict(held))
    ctx = CampaignShop(home, NO_ENVIRONMENT, process_state, clock, peril=peril)
    main.run(ctx, process_state, lambda job_id, event: ctx.monitor_log(job_id).write(event))
