"""The argument of commands that take a job or a folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from jobmon.errors import UsageError
from jobmon_core.app.jobs.find import find_job
from jobmon_core.domain.errors import UnknownJob

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.model import WatchedJob


class NamedJob(NamedTuple):
    """A watched job, or a part of it."""

    job: WatchedJob
    ref: JobRef


def job_or_folder(ctx: Context, argument: str) -> NamedJob | str:
    """Return the watched job that an argument names, else the absolute path of the folder or file.

    Raises:
        UsageError: it is a path at which there is nothing.
        UnknownJob: it is neither.
    """
    exists = os.path.lexists(argument)
    if "/" in argument or argument in (".", ".."):
        if not exists:
            raise UsageError(f"{argument}: no such folder")
        return os.path.abspath(argument)  # noqa: PTH100 - without resolving links, as the user wrote it
    try:
        return NamedJob(*find_job(ctx, argument))
    except UnknownJob as error:
        if exists:
            return os.path.abspath(argument)  # noqa: PTH100 - as above
        raise UnknownJob(f"{error}; no folder {argument!r} exists either") from error
