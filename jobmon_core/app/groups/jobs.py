"""The jobs of a group, as their state files show them; cancel, hold or release them by their scheduler."""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.jobs.find import StateGroup, group_of
from jobmon_core.app.jobs.overview import ending_of, statuses
from jobmon_core.app.restarts.lineages import end
from jobmon_core.domain.errors import SchedulerMissing, StateUnreadable
from jobmon_core.domain.slurm.states import Outcome, Phase
from jobmon_core.scheduler.backends import cancel_command
from jobmon_core.store.lineages import lineage_id_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.many.groups.model import Group, Member
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.lifecycle.health import JobStatus


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
