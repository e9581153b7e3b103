"""The arguments of commands that take jobs or log files, or a job or a folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from jobmon.errors import UsageError
from jobmon_core.app.diagnose import parse_job
from jobmon_core.app.jobs.find import STDIN, find_job, find_ref_by_name
from jobmon_core.domain.errors import UnknownJob

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef


def named_jobs(ctx: Context, arguments: list[str]) -> list[JobRef]:
    """Return the jobs that the arguments name; an empty list if none is a job (files are not checked here).

    Raises:
        UsageError: jobs are mixed with files, or with something that is neither.
        UnknownJob: the only argument is neither a job nor a file, and does not look like a path.
    """
    refs = [parse_job(argument) or find_ref_by_name(ctx, argument) for argument in arguments]
    jobs = [ref for ref in refs if ref]
    first = arguments[0]
    is_path = first == STDIN or set("/.") & set(first) or os.path.lexists(first)
    if not jobs and len(arguments) == 1 and not is_path:
        raise UnknownJob(
            f"{first!r} is neither a watched job nor a file; `jobmon status --all` lists the jobs"
        )
    if not jobs or len(jobs) == len(refs):
        return jobs
    other = next(argument for argument, ref in zip(arguments, refs, strict=True) if not ref)
    if other != STDIN and not os.path.lexists(other):
        raise UsageError(f"{other!r} is neither a job that jobmon watched nor a file")
    job = next(argument for argument, ref in zip(arguments, refs, strict=True) if ref)
    kind = "a file"
    if other == STDIN:
        kind = "standard input"
    raise UsageError(f"{job} is a job and {other} is {kind}; run the command once for each")


def job_or_folder(ctx: Context, argument: str) -> tuple[WatchedJob, JobRef] | str:
    """Return the watched job and the part of it that an argument names, else the path of a folder or file.

    The path is absolute.

    Raises:
        UsageError: it is a path at which there is nothing.
        UnknownJob: it is neither.
    """
    exists = os.path.lexists(argument)
    path = os.path.abspath(argument)  # noqa: PTH100 - without resolving links, as the user wrote it
    if "/" in argument or argument in (".", ".."):
        if not exists:
            raise UsageError(f"{argument}: no such folder")
        return path
    try:
        return find_job(ctx, argument)
    except UnknownJob as error:
        if exists:
            return path
        raise UnknownJob(f"{error}; no folder {argument!r} exists either") from error
