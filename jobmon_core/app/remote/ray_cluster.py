"""Use cases about a Ray cluster: which one is meant, and which jobs it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.scheduler.ray.address import find_service
from jobmon_core.scheduler.ray.backend import RAY

if TYPE_CHECKING:
    from jobmon_core.context import Context


def ray_service(ctx: Context, address: str) -> str:
    """Return the name of the Ray cluster with this address; without one, of that which Ray's commands use.

    Raises:
        SchedulerRejected: the address is not one of a dashboard.
    """
    return find_service(address, ctx.environment)


def open_job_names(ctx: Context, service: str) -> tuple[str, ...]:
    """Return the ids of all jobs of a Ray cluster that have not ended.

    Raises:
        SchedulerUnavailable: its dashboard does not answer.
    """
    return ctx.remote_jobs(RAY.name, service).names()
