"""Submit a sentinel: a tiny Slurm job that reports how a job ended if its monitor is gone."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.context import Context
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.notify.discord.settings import WEBHOOK_VARIABLES
from jobmon_core.scheduler.base import Submitted
from jobmon_core.scheduler.slurm.sentinel import Sentinel, station
from jobmon_core.system.runner import ProgramRunner, Runner

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.tracking.new_job import NewJob

_MODULE = "jobmon_core.lifecycle.sentinel"


class SentinelUnavailable(JobmonError):
    """A sentinel would be of no use here."""


@dataclass(frozen=True, slots=True)
class SentinelSubmitter:
    """Posts the sentinels of one user's jobs; ``tell`` says things to that user."""

    ctx: Context
    tell: Callable[[str], None]
    runner: Runner = field(default_factory=ProgramRunner)

    def submit(self, job: NewJob) -> None:
        """Post a sentinel for a job that is watched; whatever happens, the user is told in one line."""
        try:
            self._refuse_useless(job)
            posted = self._submitted(job)
        except JobmonError as error:
            self.tell(f"job {job.job_id} has no sentinel: {' '.join(str(error).split())}")
        else:
            self.tell(
                f"sentinel {posted.ref} waits until job {job.job_id} is over, and tells how it ended "
                "should the monitor be gone by then"
            )

    def _refuse_useless(self, job: NewJob) -> None:
        """Post none that could not do its work: a password is handed to no job.

        Raises:
            SentinelUnavailable: says why.
        """
        if job.backend != "slurm":
            raise SentinelUnavailable(f"the {job.backend} backend has nobody who could run it")
        here = self.ctx.configuration()
        there = Context(self.ctx.home, {}).configuration()
        unknown = [
            f"${variable}"
            for route, variable in WEBHOOK_VARIABLES.items()
            if here.channel(route) != there.channel(route)
        ]
        if unknown:
            raise SentinelUnavailable(
                f"it would not know {' and '.join(unknown)}, since a password is handed to no job; "
                "write it into config.json (`jobmon init`)"
            )

    def _submitted(self, job: NewJob) -> Submitted:
        home = self.ctx.home
        sentinel = Sentinel(
            after=Submitted(JobRef(job.job_id), job.cluster if job.remote else ""),
            command=(sys.executable, "-P", "-m", _MODULE, str(home.root), job.id),
            folder=str(home.root),
            log=str(self.ctx.monitor_log(job.id).path),
        )
        return station(self.runner, sentinel)
