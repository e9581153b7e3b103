"""What is known of every watched job and of its monitor, from disk alone: it works with Slurm down."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.store.jobs import Unreadable
from jobmon_core.store.owner import SILENT_TOO_LONG_S, Life, Owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.context import Workshop
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.model import WatchedJob

STALE_AFTER_S = SILENT_TOO_LONG_S


class Health(StrEnum):
    """What can be said of the monitor of a job."""

    ALIVE = "alive"
    DEAD = "dead"  # provably gone, with work left: `jobmon recover` restarts it
    STALE = "stale"  # on another host, and silent
    ELSEWHERE = "elsewhere"  # on another host, and lively
    DONE = "done"  # nothing is left to do


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One watched job as it stands."""

    job: WatchedJob
    health: Health
    owner: Owner | None = None


def census(shop: Workshop) -> Iterator[Snapshot | Unreadable]:
    """Yield every state file that can't be read, then every watched job, oldest first."""
    for job in shop.store.all():
        yield job if isinstance(job, Unreadable) else snapshot(shop, job)


def watched(shop: Workshop, ref: JobRef) -> list[WatchedJob]:
    """Return the watched jobs that ``ref`` belongs to, newest last; none where it was never watched.

    Raises:
        StateUnreadable: there is a state file of this job, and it can't be read.
    """
    found = shop.store.find(ref)
    if not found:
        for file in shop.store.all():
            if isinstance(file, Unreadable) and f"-{ref.job_id}-" in file.path.name:
                raise StateUnreadable(f"what was known of job {ref} is lost or locked away: {file.why}")
    return found


def snapshot(shop: Workshop, job: WatchedJob) -> Snapshot:
    """Return one job with what can be said of its monitor."""
    record = shop.owner_record(job.id)
    found = record.read()
    owner = found[0] if found else None
    if job.finished:
        return Snapshot(job, Health.DONE, owner)
    if found is None:
        return Snapshot(job, Health.DEAD)
    return Snapshot(job, _HEALTH[found[0].life(found[1], STALE_AFTER_S, record.now)], owner)


_HEALTH = {
    Life.ALIVE: Health.ALIVE,
    Life.DEAD: Health.DEAD,
    Life.STALE: Health.STALE,
    Life.ELSEWHERE: Health.ELSEWHERE,
}
