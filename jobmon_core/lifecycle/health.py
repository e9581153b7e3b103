"""What is known of every watched job and of its monitor, from disk alone: it works with Slurm down."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.store.jobs import Unreadable
from jobmon_core.store.owner import STALE_AFTER_S, Liveness, Owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.model import WatchedJob


class Health(StrEnum):
    """What can be said of the monitor of a job."""

    ALIVE = "alive"
    DEAD = "dead"  # provably gone, with work left: `jobmon recover` restarts it
    STALE = "stale"  # on another host, and silent
    REMOTE = "elsewhere"  # on another host, and lively
    DONE = "done"  # nothing is left to do


@dataclass(frozen=True, slots=True)
class JobStatus:
    """One watched job as it stands."""

    job: WatchedJob
    health: Health
    owner: Owner | None = None


def list_jobs(ctx: Context) -> Iterator[JobStatus | Unreadable]:
    """Yield every state file that can't be read, then every watched job, oldest first."""
    for job in ctx.store.all():
        yield job if isinstance(job, Unreadable) else job_status(ctx, job)


def find_watched(ctx: Context, ref: JobRef) -> list[WatchedJob]:
    """Return the watched jobs that ``ref`` belongs to, newest last; none where it was never watched.

    Raises:
        StateUnreadable: there is a state file of this job, and it can't be read.
    """
    found = ctx.store.find(ref)
    if not found:
        for file in ctx.store.all():
            if isinstance(file, Unreadable) and f"-{ref.job_id}-" in file.path.name:
                raise StateUnreadable(f"what was known of job {ref} is lost or locked away: {file.why}")
    return found


def job_status(ctx: Context, job: WatchedJob) -> JobStatus:
    """Return one job with what can be said of its monitor."""
    record = ctx.owner_record(job.id)
    found = record.read()
    owner = found[0] if found else None
    if job.finished:
        return JobStatus(job, Health.DONE, owner)
    if found is None:
        return JobStatus(job, Health.DEAD)
    return JobStatus(job, _HEALTH[found[0].liveness(found[1], STALE_AFTER_S, record.now)], owner)


_HEALTH = {
    Liveness.ALIVE: Health.ALIVE,
    Liveness.DEAD: Health.DEAD,
    Liveness.STALE: Health.STALE,
    Liveness.REMOTE: Health.REMOTE,
}
