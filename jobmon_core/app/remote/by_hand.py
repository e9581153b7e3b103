"""Use case: what a user types to look at a job of a service, to stop it and to start it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.scheduler.backends import BACKENDS
from jobmon_core.scheduler.base import ByHand

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.tracking.model import WatchedJob


def by_hand(ctx: Context, job: WatchedJob) -> ByHand:
    """Return the commands for a job of a service that names its jobs by text; nothing for others."""
    backend = BACKENDS.get(job.backend)
    if not job.remote or backend is None:
        return ByHand()
    return backend.by_hand(ctx.backend_resources(job.backend), job.cluster, job.job_id, job.name)
