"""The status of watched jobs and their monitors, read from disk: Slurm is not asked, and may be down."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.store.jobs import Unreadable
from jobmon_core.store.owner import Health
from jobmon_core.system.files import time_of_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.store.owner import Owner

# `Health` for the command line
__all__ = ["Health", "JobStatus", "find_watched", "job_status", "job_statuses", "list_jobs"]


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A watched job, and the state and owner of its monitor."""

    job: WatchedJob
    health: Health
    owner: Owner | None = None


def list_jobs(ctx: Context) -> Iterator[JobStatus | Unreadable]:
    """Yield the unreadable state files, then all watched jobs, oldest first."""
    for job in ctx.store.all():
        # what `recover` does between two of them may take long
        yield job if isinstance(job, Unreadable) else job_status(ctx, job)


def find_watched(ctx: Context, ref: JobRef) -> list[WatchedJob]:
    """Return the watched jobs that ``ref`` belongs to, newest last.

    StateUnreadable if none was found, but a state file of this job cannot be read.
    """
    jobs = ctx.store.find(ref)
    if not jobs:
        for file in ctx.store.all():
            if isinstance(file, Unreadable) and f"-{ref.job_id}-" in file.path.name:
                raise StateUnreadable(f"the state of job {ref} cannot be read: {file.why}")
    return jobs


def job_status(ctx: Context, job: WatchedJob) -> JobStatus:
    """Return a job with the state of its monitor."""
    return next(job_statuses(ctx, [job]))


def job_statuses(ctx: Context, jobs: Iterable[WatchedJob]) -> Iterator[JobStatus]:
    """Yield jobs with the states of their monitors now; one that watches several is looked at once."""
    ctx, here = ctx.for_one_look(), os.uname().nodename
    now_s = cache(lambda: time_of_files(ctx.home.monitors))
    health_of = cache(lambda owner, heartbeat_s: owner.health(heartbeat_s, now_s))
    for job in jobs:
        owner, heartbeat_s = ctx.owner_record(job.id).read() or (None, 0.0)
        if job.finished:
            health = Health.DONE
        elif owner is None:
            health = Health.DEAD
        else:
            # that of a process of this host does not depend on its heartbeat, which differs between its jobs
            health = health_of(owner, 0.0 if owner.host == here else heartbeat_s)
        yield JobStatus(job, health, owner)
