"""The arguments of commands that take jobs or log files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from jobmon.errors import UsageError
from jobmon_core.app.diagnose import parse_job
from jobmon_core.app.jobs.find import STDIN, find_ref_by_name
from jobmon_core.domain.errors import UnknownJob

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.job_ids import JobRef


def named_jobs(ctx: Context, arguments: list[str]) -> list[JobRef]:
    """Return the jobs that the arguments name; an empty list if none is a job (files are not checked here).

    Raises:
        UsageError: jobs are mixed with files, or with something that is neither.
        UnknownJob: the only argument is neither a job nor a file, and does not look like a path.
    """
    refs = [parse_job(argument) or find_ref_by_name(ctx, argument) for argument in arguments]
    jobs = [ref for ref in refs if ref]
    if not jobs and len(arguments) == 1 and _cannot_be_file(arguments[0]):
        raise UnknownJob(
            f"{arguments[0]!r} is neither a watched job nor a file; `jobmon status --all` lists the jobs"
        )
    if not jobs or len(jobs) == len(refs):
        return jobs
    other = next(argument for argument, ref in zip(arguments, refs, strict=True) if not ref)
    if other != STDIN and not os.path.lexists(other):
        raise UsageError(f"{other!r} is neither a job that jobmon watched nor a file")
    job = next(argument for argument, ref in zip(arguments, refs, strict=True) if ref)
    kind = "standard input" if other == STDIN else "a file"
    raise UsageError(f"{job} is a job and {other} is {kind}; run the command once for each")


def _cannot_be_file(argument: str) -> bool:
    """Whether no such file exists and the argument does not look like a path: it has no ``/`` and no dot."""
    return argument != STDIN and not set("/.") & set(argument) and not os.path.lexists(argument)
