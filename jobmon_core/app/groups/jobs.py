"""The jobs of a group, as their state files show them: add some; cancel, hold or release them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.jobs.find import StateGroup, group_of
from jobmon_core.app.jobs.overview import Overview, ending_of, policy, statuses
from jobmon_core.app.restarts.lineages import end
from jobmon_core.domain.errors import JobmonError, SchedulerMissing, SchedulerUnavailable, StateUnreadable
from jobmon_core.domain.many.groups.model import Group, Member
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.domain.slurm.states import Outcome, Phase
from jobmon_core.domain.visible_text import one_line
from jobmon_core.scheduler.backends import cancel_command
from jobmon_core.store.lineages import lineage_id_of
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.job.tracking.new_job import NewJob
    from jobmon_core.domain.many.groups.model import GroupSettings
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.lifecycle.health import JobStatus
    from jobmon_core.lifecycle.start import MonitorStarter


class GroupRun(NamedTuple):
    """A run of a group."""

    name: str
    member: Member
    status: JobStatus | None = None  # None if it was not submitted, or its state file cannot be read
    problem: str = ""

    @property
    def job(self) -> WatchedJob | None:
        """Its job, if it has one with a readable state file."""
        if self.status:
            return self.status.job
        return None


def runs_of(ctx: Context, group: Group) -> list[GroupRun]:
    """Return the runs of a group; the scheduler is not asked."""
    jobs: dict[str, WatchedJob] = {}
    problems: dict[str, str] = {}
    for name, member in group.members.items():
        if member.state_id:
            try:
                jobs[name] = ctx.store.load(member.state_id)
            except StateUnreadable as error:
                problems[name] = str(error)
    known = dict(zip(jobs, statuses(ctx, jobs.values()), strict=True))
    return [
        GroupRun(name, member, known.get(name), problems.get(name, ""))
        for name, member in group.members.items()
    ]


def group_overview(ctx: Context, group: Group, runs: Sequence[GroupRun]) -> Overview:
    """Return what is known of the jobs of a group."""
    statuses = [run.status for run in runs if run.status]
    running = [each.job for each in statuses if not each.job.closed and each.job.is_running]
    progress = {job.id: ctx.progress_file(job.id).read() for job in running}
    intervals_s = {status.job.id: group.settings.interval_s for status in statuses}
    return Overview(statuses, [], policy(ctx), progress, intervals_s)


def alive_jobs(runs: Iterable[GroupRun]) -> list[WatchedJob]:
    """Return those that have not ended, as far as jobmon knows, or whose next attempt is due."""
    return [run.job for run in runs if run.job and not _is_over(run.job)]


def _is_over(job: WatchedJob) -> bool:
    """Whether everything of a job has ended, even if the outcome is not known yet."""
    if job.is_restarting:
        return False
    if job.ended or job.concluded_s is not None:
        return True
    if not job.tasks or job.pending_indices:
        return False
    endings = [ending_of(task) for task in job.tasks.values() if not task.end]
    return all(each and each.state and not each.state.may_return for each in endings)


def pending_jobs(runs: Iterable[GroupRun]) -> list[WatchedJob]:
    """Return those of which something has not started."""
    return [job for job in alive_jobs(runs) if job.pending_indices or not job.tasks or _waits(job)]


def failed_runs(runs: Iterable[GroupRun]) -> Iterator[GroupRun]:
    """Yield those whose jobs failed."""
    return (run for run in runs if run.job and group_of(run.job) is StateGroup.FAILED)


def failed_indices(job: WatchedJob) -> list[int]:
    """Return the indices of the failed tasks of an array; none if all failed."""
    failed = [
        int(key)
        for key, task in job.tasks.items()
        if key.isdigit() and task.end and task.end.outcome is Outcome.FAILURE
    ]
    if len(failed) < len(job.tasks):
        return failed
    return []


def _waits(job: WatchedJob) -> bool:
    return any(task.end is None and task.state.phase is Phase.WAITING for task in job.tasks.values())


class Change(StrEnum):
    """What is done with jobs."""

    CANCEL = "cancel"
    HOLD = "hold"
    RELEASE = "release"


def change_jobs(
    ctx: Context, change: Change, jobs: Sequence[WatchedJob]
) -> Iterator[tuple[tuple[JobRef, ...], str]]:
    """Change jobs; yield those of each cluster, and the error with which some of them may be unchanged."""
    if due := [job for job in jobs if change is Change.CANCEL and job.is_restarting]:
        for job in due:
            end(ctx, lineage_id_of(job), "ended by `jobmon group cancel`")
        yield tuple(job.ref for job in due), ""
        jobs = [job for job in jobs if job not in due]
    by_cluster: dict[tuple[str, str], list[WatchedJob]] = defaultdict(list)
    for job in jobs:
        by_cluster[job.backend, job.other_cluster].append(job)
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
        yield refs, error


def _own_commands(jobs: Sequence[WatchedJob]) -> str:
    commands = [cancel_command(job) for job in jobs]
    if all(commands):
        return f"; run `{' ; '.join(commands)}`"
    return ""


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
