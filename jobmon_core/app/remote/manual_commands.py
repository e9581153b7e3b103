"""Use case: the commands with which a user looks at a job of a service, stops it and starts it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.scheduler.backends import BACKENDS
from jobmon_core.scheduler.base import ManualCommands

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.tracking.model import WatchedJob


def manual_commands(ctx: Context, job: WatchedJob) -> ManualCommands:
    """Return the commands for a job of a service that names its jobs by text; nothing for others."""
    backend = BACKENDS.get(job.backend)
    if not job.remote or backend is None:
        return ManualCommands()
    return backend.manual_commands(ctx.backend_resources(job.backend), job.cluster, job.job_id, job.name)
