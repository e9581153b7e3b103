"""Find the watched job that an argument names: by its id, by its name, or as the latest one."""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import UnknownJob
from jobmon_core.domain.job.tracking.duplicates import without_duplicates
from jobmon_core.domain.slurm.job_ids import JobRef, ref_of
from jobmon_core.lifecycle.health import find_watched
from jobmon_core.observe.logs.open_file import read_regular
from jobmon_core.store.jobs import Unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob

_SLUID = re.compile(r"s[0-9A-Z]{13}")  # which Slurm 24.11 and later give each job
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

    Also None if the argument is ``-`` or the name of a file; a script is no log, but stands for its jobs.
    """
    is_file = os.path.lexists(argument)
    if argument == STDIN or (is_file and not _is_script(argument)):
        return None
    jobs, path = all_jobs(ctx), Path.cwd() / argument
    of_script = [job for job in jobs if is_file and f"{job.command} ".startswith(f"{path} ")]
    job = find_by_name(jobs, argument) or (of_script[-1] if of_script else None)
    return job.ref if job else None


def _is_script(path: str) -> bool:
    """Return whether a file begins with ``#!`` or is named like one of Python; of a pipe, nothing is read."""
    return path.endswith(".py") or read_regular(path, 2) == b"#!"


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
    if _SLUID.fullmatch(argument):
        known = "`sacct -X -o JobID,SLUID` shows the ids"
        raise UnknownJob(f"{argument} is an SLUID, and jobmon knows jobs by their ids: {known}")
    similar = get_close_matches(argument, {name for job in jobs for name in job.names}, n=1)
    hint = f"did you mean {similar[0]!r}? " if similar else ""
    if unnamed := next((job for job in reversed(jobs) if not job.names and not job.closed), None):
        hint += f"the name of job {unnamed.ref} is not known yet; "
    raise UnknownJob(
        f"{argument!r} is neither a job id (12, 12_3, 12+1) nor the name of a watched job; {hint}{_LIST}"
    )
