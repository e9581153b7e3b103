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
    """Return the jobs that the arguments name, if any does; files are not checked here.

    Raises:
        UsageError: jobs are mixed with files, or with something that is neither.
        UnknownJob: the only argument is neither a job nor a file, and does not look like a path.
    """
    jobs: list[JobRef] = []
    names, others = list[str](), list[str]()
    for argument in arguments:
        if ref := parse_job(argument) or find_ref_by_name(ctx, argument):
            jobs.append(ref)
            names.append(argument)
        else:
            others.append(argument)
    if not jobs and len(arguments) == 1 and not _may_be_path(arguments[0]):
        raise UnknownJob(
            f"{arguments[0]!r} is neither a watched job nor a file; `jobmon status --all` lists the jobs"
        )
    if jobs and others:
        raise UsageError(_mixed(names[0], others[0]))
    return jobs


def _may_be_path(argument: str) -> bool:
    return argument == STDIN or bool(set("/.") & set(argument)) or os.path.lexists(argument)


def _mixed(job: str, other: str) -> str:
    kind = "a file"
    if other == STDIN:
        kind = "standard input"
    elif not os.path.lexists(other):
        return f"{other!r} is neither a job that jobmon watched nor a file"
    return f"{job} is a job and {other} is {kind}; run the command once for each"


def job_or_folder(ctx: Context, argument: str) -> tuple[WatchedJob, JobRef] | str:
    """Return the watched job and the part of it that is named, else the absolute path of a folder or file.

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
