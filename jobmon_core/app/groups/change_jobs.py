"""Use cases: cancel, hold or release the jobs of a group, through the scheduler's own commands."""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.restarts.lineages import end
from jobmon_core.domain.errors import SchedulerMissing
from jobmon_core.scheduler.backends import cancel_command
from jobmon_core.store.lineages import lineage_id_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef


class Change(StrEnum):
    """What is done with jobs."""

    CANCEL = "cancel"
    HOLD = "hold"
    RELEASE = "release"


class Changed(NamedTuple):
    """The answer of one scheduler."""

    refs: tuple[JobRef, ...]
    error: str = ""  # empty if there is none; else some or all of the jobs may be unchanged


def change_jobs(ctx: Context, change: Change, jobs: Sequence[WatchedJob]) -> Iterator[Changed]:
    """Change jobs, those of each cluster together; yield the answer of each cluster.

    To cancel one that has ended, and of which another attempt is due, is to end its lineage.

    Raises:
        StorageFailed: a lineage cannot be ended.
    """
    if due := [job for job in jobs if change is Change.CANCEL and job.is_restarting]:
        for job in due:
            end(ctx, lineage_id_of(job), "ended by `jobmon group cancel`")
        yield Changed(tuple(job.ref for job in due))
        jobs = [job for job in jobs if job not in due]
    by_cluster: dict[tuple[str, str], list[WatchedJob]] = defaultdict(list)
    for job in jobs:
        by_cluster[job.backend, job.cluster if job.remote else ""].append(job)
    for (backend, cluster), there in by_cluster.items():
        refs = tuple(job.ref for job in there)
        try:
            control = ctx.job_control(backend, cluster)
            changes = {
                Change.CANCEL: control.cancel,
                Change.HOLD: control.hold,
                Change.RELEASE: control.release,
            }
            error = changes[change](refs)
        except SchedulerMissing as missing:
            error = f"{missing}{_own_commands(there) if change is Change.CANCEL else ''}"
        yield Changed(refs, error)


def _own_commands(jobs: Sequence[WatchedJob]) -> str:
    """Return how the user can cancel jobs that jobmon cannot, as the rest of a sentence."""
    commands = [cancel_command(job) for job in jobs]
    return f"; run `{' ; '.join(commands)}`" if all(commands) else ""
