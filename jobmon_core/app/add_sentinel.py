"""Submit a sentinel: a tiny Slurm job that reports how a job ended if its monitor is gone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from jobmon_core.context import Context
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.notify.discord.channel import WEBHOOK_VARIABLES
from jobmon_core.scheduler.backends import find_backend
from jobmon_core.scheduler.base import Submitted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.domain.job.tracking.new_job import NewJob
    from jobmon_core.system.runner import Runner

_SENTINEL_MODULE = "jobmon_core.lifecycle.sentinel"


def add_sentinel(ctx: Context, job: NewJob, tell: Callable[[str], None], runner: Runner) -> None:
    """Submit a sentinel for a watched job; tell how it went."""
    try:
        submit_sentinel = _submit_function(ctx, job.backend)
        after = Submitted(JobRef(job.job_id), job.cluster if job.remote else "")
        command = (sys.executable, "-P", "-m", _SENTINEL_MODULE, str(ctx.home.root), job.id)
        log = str(ctx.monitor_log(job.id).path)
        sentinel = submit_sentinel(runner, after, command, str(ctx.home.root), log)
    except JobmonError as error:
        tell(f"job {job.job_id} has no sentinel: {' '.join(str(error).split())}")
    else:
        tell(
            f"sentinel {sentinel.ref} will start when job {job.job_id} has ended, wait for the monitor's "
            "message, and send it if the monitor is gone"
        )


def _submit_function(
    ctx: Context, backend: str
) -> Callable[[Runner, Submitted, Sequence[str], str, str], Submitted]:
    """Raise JobmonError if a sentinel could not run, or could not send the message."""
    submit_sentinel = find_backend(backend).submit_sentinel
    if submit_sentinel is None:
        raise JobmonError(f"the {backend} backend cannot run one")
    config = ctx.configuration()
    config_in_job = Context(ctx.home, {}).configuration()
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
