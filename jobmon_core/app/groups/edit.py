"""Create a group, and add jobs to it, which are watched from then on."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import JobmonError, SchedulerUnavailable
from jobmon_core.domain.many.groups.model import Group, Member
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.domain.visible_text import one_line
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.job.tracking.new_job import NewJob
    from jobmon_core.domain.many.groups.model import GroupSettings
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.lifecycle.start import MonitorStarter


def open_group(
    ctx: Context, name: str, settings: Callable[[GroupSettings], GroupSettings] | None = None
) -> bool:
    """Create a group if need be, and change its settings; return whether it is new."""
    is_new = not ctx.groups.exists(name) and ctx.groups.create(Group(name, ctx.clock.now()))
    if settings:
        update(ctx, name, lambda group: replace(group, settings=settings(group.settings)))
    return is_new


def update(ctx: Context, name: str, change: Callable[[Group], Group]) -> Group:
    """Change a group under its lock; return the new one."""
    with ctx.groups.locked(name) as group:
        changed = change(group)
        if changed != group:
            ctx.groups.save(changed)
        return changed


def join_group(
    ctx: Context, name: str, job: NewJob | WatchedJob, run: str, tell: Callable[[str], None]
) -> None:
    """Add a job that was submitted just now to a group; tell how it went."""

    def joined(group: Group) -> Group:
        return group.with_member(free_name(group, run, str(job.job_id)), Member(state_id=job.id))

    try:
        open_group(ctx, name)
        known = update(ctx, name, joined).name_of(job.id)
    except JobmonError as error:
        remedy = f"`jobmon group add {name} {job.job_id}` adds it"
        tell(f"job {job.job_id} is not in group {name}: {error}; {remedy}")
    else:
        tell(f"job {job.job_id} is the run {known} of group {name}")


def add_job(
    ctx: Context, starter: MonitorStarter, name: str, ref: JobRef, run: str = "", *, job_name: str = ""
) -> tuple[str, bool]:
    """Add a job to a group, and watch it; return the name of its run, and whether it is new in the group.

    Without ``run``, that is the job's own name (``job_name`` if its state file may lack it), with its id if
    taken.
    """
    job = watched_job(ctx, starter, ref)
    result: list[tuple[str, bool]] = []

    def change(group: Group) -> Group:
        if known := group.name_of(job.id):
            result.append((known, False))
            return group
        free = run or free_name(group, (*job.names, job_name, str(ref))[0], str(ref))
        member = group.members.get(free, Member())
        if member.state_id:
            raise JobmonError(f"the run {free} of group {name} is job {member.job_id} already")
        result.append((free, True))
        return group.with_member(free, replace(member, state_id=job.id, submitting_since_s=None))

    update(ctx, name, change)
    return result[0]


def queued_jobs(ctx: Context, glob: str) -> dict[JobRef, str]:
    """Return the names of the user's pending and running jobs that match ``glob``."""
    answer = ctx.job_control(ctx.configuration().backend).queued_jobs(user_name())
    if isinstance(answer, Unreachable):
        raise SchedulerUnavailable(f"the queue cannot be listed now: {answer.why}; try again later")
    jobs = {ref: name for ref, name in answer.items() if fnmatchcase(name, glob)}
    if not jobs:
        raise JobmonError(f"no pending or running job of yours has a name like {glob!r}")
    return jobs


def watched_job(ctx: Context, starter: MonitorStarter, ref: JobRef) -> WatchedJob:
    """Return the record of a job, which is watched from now on."""
    from jobmon_core.app.watch import watch  # most jobs are watched already
    from jobmon_core.domain.backends import DEFAULT_BACKEND
    from jobmon_core.domain.slurm.log_paths import LogPaths
    from jobmon_core.lifecycle.health import find_watched

    found = find_watched(ctx, ref)
    if not found or found[-1].unwatched_s is not None:
        watch(ctx, starter, ref, found[-1].backend if found else DEFAULT_BACKEND, LogPaths())
        found = find_watched(ctx, ref)
    job = found[-1]
    if ref.key not in ("", job.watched_part):
        raise JobmonError(f"job {ref} is watched as a part of job {job.ref}: add {job.ref} instead")
    return job


def free_name(group: Group, wanted: str, job_id: str) -> str:
    """Return a name that the group does not have yet."""
    wanted = " ".join(one_line(wanted).split()) or job_id
    if wanted not in group.members:
        return wanted
    return f"{wanted}-{job_id}"
