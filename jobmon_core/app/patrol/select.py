"""Which jobs a patrol looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.app.jobs.selection import Group, Selection, by_id, group_of, select
from jobmon_core.lifecycle.health import Health

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from jobmon_core.domain.patrol.model import Memory
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.lifecycle.health import JobStatus

FIRST_PATROL_S = 86_400.0  # the first patrol also reports the ends of the last day


def jobs_to_patrol(
    jobs: Sequence[JobStatus], state_ids: Collection[str], memory: Memory, now_s: float
) -> list[JobStatus]:
    """Return the jobs with these state ids, by job id.

    Without any, these are the jobs that are watched, and those that ended since the last patrol.
    """
    if state_ids:
        chosen = [each for each in jobs if each.job.id in state_ids]
    else:
        since_s = memory.at_s or now_s - FIRST_PATROL_S
        chosen = [each for each in jobs if _is_watched(each) or _is_news(each.job, memory, since_s)]
    return sorted(chosen, key=by_id)


def failed_earlier(jobs: Sequence[JobStatus], chosen: Collection[JobStatus], now_s: float) -> int:
    """Return the number of failed jobs that `jobmon status` lists and a patrol over ``chosen`` leaves out."""
    listed = (each.job for each in select(jobs, Selection(), now_s).jobs if each not in chosen)
    return sum(group_of(job) is Group.FAILED for job in listed)


def _is_watched(status: JobStatus) -> bool:
    return status.health is not Health.DONE


def _is_news(job: WatchedJob, memory: Memory, since_s: float) -> bool:
    """Whether a job that is not watched any more may have something to report."""
    if (before := memory.jobs.get(job.id)) is not None:
        return not before.is_over
    return (job.concluded_s or 0.0) > since_s
