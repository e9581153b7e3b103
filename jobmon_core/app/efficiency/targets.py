"""The jobs that a user means by the arguments of ``jobmon efficiency``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.jobs.array_summary import in_order
from jobmon_core.app.jobs.find import all_jobs, find_job
from jobmon_core.app.jobs.selection import last_change_s
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.lifecycle.health import find_watched
from jobmon_core.store.jobs import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.tracking.model import End, WatchedJob


class Target(NamedTuple):
    """A job, or a part of it."""

    ref: JobRef
    job: WatchedJob | None  # None if jobmon has no record of it

    @property
    def id(self) -> tuple[str, str]:
        """What distinguishes it: Slurm may use a job id again."""
        return self.job.id if self.job else "", str(self.ref)

    @property
    def cluster(self) -> str:
        """The cluster that a query must name; empty for the local one."""
        return self.job.cluster if self.job and self.job.remote else ""

    @property
    def ends(self) -> dict[str, End]:
        """The ends that jobmon noted, by the key of the task."""
        tasks = in_order(list(self.job.tasks.values())) if self.job else []
        return {task.key: task.end for task in tasks if task.end and self.ref.key in ("", task.key)}


def find_targets(ctx: Context, arguments: Sequence[str], since_s: float) -> list[Target]:
    """Return what the arguments name, each once; without any, the jobs that ended since ``since_s``.

    A group stands for those of its jobs whose state files can be read.

    Raises:
        UnknownJob: an argument is neither a job id nor a name that jobmon knows, or a job has no such task.
        StateUnreadable: the state file of a named job or group cannot be read.
    """
    if not arguments:
        ended = (job for job in all_jobs(ctx) if job.ended and last_change_s(job) >= since_s)
        return [Target(job.ref, job) for job in ended]
    found = (target for argument in arguments for target in _named(ctx, argument))
    return [*{target.id: target for target in found}.values()]


def _named(ctx: Context, argument: str) -> Iterator[Target]:
    try:
        ref = JobRef.parse(argument)
    except ValueError:
        if argument in ctx.groups.names():
            yield from _members(ctx, argument)
            return
        job, ref = find_job(ctx, argument)
        yield Target(ref, job)
        return
    if not find_watched(ctx, ref):
        yield Target(ref, None)
        return
    job, ref = find_job(ctx, argument)
    yield Target(ref, job)


def _members(ctx: Context, group: str) -> Iterator[Target]:
    """Yield the jobs of a group whose state files can be read."""
    for member in ctx.groups.load(group).members.values():
        job = ctx.store.read(ctx.store.path(member.state_id)) if member.state_id else None
        if job is not None and not isinstance(job, Unreadable):
            yield Target(job.ref, job)
