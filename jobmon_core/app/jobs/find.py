"""Find the watched job that an argument names: by its id, by its name, or as the latest one."""

from __future__ import annotations

import os
from difflib import get_close_matches
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import UnknownJob
from jobmon_core.domain.slurm.job_ids import JobRef, ref_of
from jobmon_core.domain.tracking.duplicates import without_duplicates
from jobmon_core.lifecycle.health import find_watched
from jobmon_core.store.jobs import Unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.tracking.model import WatchedJob

LATEST = "latest"
STDIN = "-"
_LIST = "`jobmon status --all` lists all recorded jobs"


def find_job(ctx: Context, argument: str) -> tuple[WatchedJob, JobRef]:
    """Return the newest watched job that ``argument`` names, and the id of it or of the part that is meant.

    Raises:
        UnknownJob: jobmon has no record of such a job, or it has no such task.
        StateUnreadable: the job has a state file that cannot be read.
    """
    try:
        ref = JobRef.parse(argument)
    except ValueError:
        job = _named(all_jobs(ctx), argument)
        return job, job.ref
    jobs = without_duplicates(find_watched(ctx, ref))
    if not jobs:
        raise UnknownJob(f"{no_record(ref)}; `jobmon watch {ref}` watches it if it exists; {_LIST}")
    job = jobs[-1]
    if ref.job_id != job.job_id:  # the raw job id of an array task or het component
        part = next(task for task in job.tasks.values() if task.raw_job_id == ref.job_id)
        return job, ref_of(job.job_id, part.key)
    if job.lacks_part(ref.key):
        raise UnknownJob(f"unknown job {ref}: job {job.job_id} has no such task or component")
    return job, ref


def find_ref(ctx: Context, argument: str) -> JobRef:
    """Return ``argument`` as a job id, known or not, or the id of the newest watched job of that name.

    Raises:
        UnknownJob: it is neither a job id nor the name of a watched job.
    """
    try:
        return JobRef.parse(argument)
    except ValueError:
        return _named(all_jobs(ctx), argument).ref


def no_record(ref: JobRef) -> str:
    """Return the text of an error: jobmon has no record of a job."""
    return f"no record of job {ref} (never watched, or forgotten)"


def find_ref_by_name(ctx: Context, argument: str) -> JobRef | None:
    """Return the id of the newest watched job of this name, or of all for ``latest``; None if there is none.

    Also None if the argument is ``-``, has a ``/`` or is the name of a file.
    """
    if os.path.lexists(argument) or "/" in argument or argument == STDIN:
        return None
    job = find_by_name(all_jobs(ctx), argument)
    return job.ref if job else None


def all_jobs(ctx: Context) -> list[WatchedJob]:
    """Return all watched jobs with a readable state file, one record each, in the order of submission."""
    jobs = without_duplicates(each for each in ctx.store.all() if not isinstance(each, Unreadable))
    return sorted(jobs, key=_submission)


def find_by_name(jobs: Sequence[WatchedJob], argument: str) -> WatchedJob | None:
    """Return the newest of ``jobs`` (oldest first) if ``argument`` is ``latest``, else that of this name."""
    named = jobs if argument == LATEST else [job for job in jobs if argument in job.names]
    return named[-1] if named else None


def _submission(job: WatchedJob) -> tuple[float, float, int]:
    """Return the key that sorts jobs by their submission; a job may be watched long after it."""
    return float(job.submitted_s or int(job.registered_s)), job.registered_s, job.job_id


def _named(jobs: Sequence[WatchedJob], argument: str) -> WatchedJob:
    job = find_by_name(jobs, argument)
    if job is not None:
        return job
    if argument == LATEST:
        raise UnknownJob("jobmon has no record of any job; start with `jobmon submit SCRIPT`")
    similar = get_close_matches(argument, {name for job in jobs for name in job.names}, n=1)
    hint = f"did you mean {similar[0]!r}? " if similar else ""
    raise UnknownJob(
        f"{argument!r} is neither a job id (12, 12_3, 12+1) nor the name of a watched job; {hint}{_LIST}"
    )
