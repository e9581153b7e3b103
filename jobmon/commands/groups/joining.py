"""Add a job to a group when it is submitted: ``jobmon submit --group``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.errors import say
from jobmon_core.app.groups.edit import add_submitted, open_group
from jobmon_core.domain.errors import JobmonError

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.domain.tracking.new_job import NewJob


def join_group(ctx: Context, group: str, job: NewJob | WatchedJob, run: str) -> None:
    """Add a submitted job to a group as a run of this name, or of one like it; print an error."""
    try:
        open_group(ctx, group)
        run = add_submitted(ctx, group, job, run)
    except JobmonError as error:
        say(f"job {job.job_id} is not in group {group}: {error}; `jobmon group add {group} {job.job_id}`")
    else:
        say(f"job {job.job_id} is the run {run} of group {group}")
