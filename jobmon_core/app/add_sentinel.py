"""Submit a sentinel: a tiny Slurm job that reports how a job ended if its monitor is gone."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.context import Context
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.notify.discord.channel import WEBHOOK_VARIABLES
from jobmon_core.scheduler.backends import find_backend
from jobmon_core.scheduler.base import Submitted
from jobmon_core.system.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.domain.job.tracking.new_job import NewJob

_SENTINEL_MODULE = "jobmon_core.lifecycle.sentinel"


@dataclass(frozen=True, slots=True)
class SentinelSubmitter:
    """Submits the sentinels of one user's jobs."""

    ctx: Context
    tell: Callable[[str], None]
    runner: Runner = field(default_factory=Runner)

    def submit(self, job: NewJob) -> None:
        """Submit a sentinel for a watched job; tell how it went."""
        try:
            submit_sentinel, home = self._submit_function(job.backend), self.ctx.home
            after = Submitted(JobRef(job.job_id), job.cluster if job.remote else "")
            command = (sys.executable, "-P", "-m", _SENTINEL_MODULE, str(home.root), job.id)
            log = str(self.ctx.monitor_log(job.id).path)
            sentinel = submit_sentinel(self.runner, after, command, str(home.root), log)
        except JobmonError as error:
            self.tell(f"job {job.job_id} has no sentinel: {' '.join(str(error).split())}")
        else:
            self.tell(
                f"sentinel {sentinel.ref} will start when job {job.job_id} has ended, wait for the monitor's "
                "message, and send it if the monitor is gone"
            )

    def _submit_function(
        self, backend: str
    ) -> Callable[[Runner, Submitted, Sequence[str], str, str], Submitted]:
        """Raise JobmonError if a sentinel could not run, or could not send the message."""
        submit_sentinel = find_backend(backend).submit_sentinel
        if submit_sentinel is None:
            raise JobmonError(f"the {backend} backend cannot run one")
        config = self.ctx.configuration()
        config_in_job = Context(self.ctx.home, {}).configuration()
        missing = [
            f"${variable}"
            for route, variable in WEBHOOK_VARIABLES.items()
            if config.channel(route) != config_in_job.channel(route)
        ]
        if missing:
            raise JobmonError(
                f"it would lack {' and '.join(missing)}, since jobmon passes no secrets on to a job; "
                "put the webhook in config.json (`jobmon init`)"
            )
        return submit_sentinel
