"""Use case: collect what someone who takes over the jobs needs, from jobmon's own files if possible."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.app.artifacts.checkpoints import checkpoints_of
from jobmon_core.app.handover.commands import Resume, how_to_resume, how_to_stop
from jobmon_core.app.jobs.array_summary import worst_task
from jobmon_core.app.jobs.ending import may_still_run
from jobmon_core.app.jobs.output import known_files
from jobmon_core.app.jobs.overview import config_fault, overview
from jobmon_core.app.jobs.selection import Selection, select
from jobmon_core.app.live.tasks import live_tasks
from jobmon_core.app.patrol.files import JobFiles, read_files
from jobmon_core.app.patrol.targets import open_groups
from jobmon_core.app.remote.manual_commands import manual_commands
from jobmon_core.domain.artifacts.checkpoints.model import FoundCheckpoints  # noqa: TC001 - see _Found
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.handover.dependencies import Dependency, dependencies
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.system.users import user_name
from jobmon_core.system.worker import Worker, WorkerFailed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.context import Context
    from jobmon_core.domain.groups.model import Group
    from jobmon_core.domain.notes.model import Note
    from jobmon_core.domain.progress.model import JobProgress
    from jobmon_core.domain.provenance.model import RunRecord
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.lifecycle.health import JobStatus

_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class HandoverJob:
    """One job, and how to go on with it."""

    status: JobStatus
    progress: JobProgress
    tasks: tuple[LiveTask, ...]
    record: RunRecord | None
    logs: tuple[str, ...]
    waits_for: tuple[Dependency, ...]
    checkpoints: tuple[FoundCheckpoints, ...]
    look: tuple[str, ...]  # commands of the service that runs it, beside those of jobmon
    stop: tuple[str, ...]  # commands; empty if there is nothing to stop
    resume: Resume
    files: JobFiles  # its results and markers
    notes: tuple[Note, ...]  # of the user

    @property
    def job(self) -> WatchedJob:
        """What jobmon knows of it."""
        return self.status.job


@dataclass(frozen=True, slots=True)
class Handover:
    """Everything on the handover page."""

    at_s: float  # Unix seconds
    user: str
    host: str  # where the page was written
    jobs: tuple[HandoverJob, ...]  # those to go on with: active or not successful
    done: tuple[JobStatus, ...] = ()  # those that succeeded
    groups: tuple[Group, ...] = ()  # those that are not complete
    problems: tuple[str, ...] = ()  # what could not be looked at
    no_messages: str = ""  # why messages reach no channel; empty if they do


@dataclass(frozen=True, slots=True)
class _Found:
    """The checkpoints of jobs by state id, a `FoundCheckpoints` for each folder."""

    jobs: dict[str, tuple[FoundCheckpoints, ...]]


def collect(ctx: Context, state_ids: Collection[str]) -> Handover:
    """Collect the jobs with these state ids; without any, those that `jobmon status` lists."""
    now_s = ctx.clock.now()
    known = overview(ctx)
    chosen = select(known.jobs, Selection(all=bool(state_ids)), now_s).jobs
    if state_ids:
        chosen = [each for each in chosen if each.job.id in state_ids]
    done = [each for each in chosen if _has_succeeded(each.job)]
    left = sorted((each for each in chosen if not _has_succeeded(each.job)), key=lambda each: each.job.closed)
    checkpoints, problem = _checkpoints(ctx, [each.job for each in left])
    files = read_files(each.job for each in left)
    jobs = tuple(
        _handover_job(
            ctx,
            each,
            checkpoints.get(each.job.id, ()),
            files.jobs.get(each.job.id, JobFiles()),
            now_s,
        )
        for each in left
    )
    unread = f"results and markers could not be read: {files.problem}" if files.problem else ""
    problems = [*(f"a state file cannot be read: {each.why}" for each in known.unreadable), problem, unread]
    return Handover(
        now_s,
        user_name(),
        os.uname().nodename,
        jobs,
        tuple(done),
        tuple(open_groups(ctx)),
        tuple(filter(None, problems)),
        _no_messages(ctx),
    )


def _no_messages(ctx: Context) -> str:
    if fault := config_fault(ctx):
        return fault
    missing = [route.value for route in ctx.configuration().routes_without_channel]
    return f"no channel is configured for {' and '.join(missing)} messages" if missing else ""


def _has_succeeded(job: WatchedJob) -> bool:
    return job.outcome is Outcome.SUCCESS and not job.is_doubtful_success


def _handover_job(
    ctx: Context,
    status: JobStatus,
    checkpoints: tuple[FoundCheckpoints, ...],
    files: JobFiles,
    now_s: float,
) -> HandoverJob:
    job = status.job
    progress = ctx.progress_file(job.id).read()
    record = ctx.run_record(job.id).taken()
    script = record.script.text if record and record.script else None
    task = worst_task(job.tasks.values())
    return HandoverJob(
        status,
        progress,
        (*live_tasks(status, progress, now_s),),
        record,
        tuple(known_files(job, task)) if task else (),
        dependencies(record.arguments if record else (), script or ""),
        checkpoints,
        manual_commands(ctx, job).look if may_still_run(job) else (),
        how_to_stop(ctx, job),
        how_to_resume(ctx, job, record),
        files,
        ctx.notes(job.id).read().notes,
    )


def _checkpoints(
    ctx: Context, jobs: Iterable[WatchedJob]
) -> tuple[dict[str, tuple[FoundCheckpoints, ...]], str]:
    """Look for the checkpoints of jobs for up to a minute; return them, and why the look failed."""
    try:
        found = Worker().run(_Found, lambda: _Found({job.id: _of_job(ctx, job) for job in jobs}), _TIMEOUT_S)
    except WorkerFailed as error:
        return {}, f"the checkpoints could not be looked at: {str(error).rstrip().rpartition(chr(10))[2]}"
    return found.jobs, ""


def _of_job(ctx: Context, job: WatchedJob) -> tuple[FoundCheckpoints, ...]:
    try:
        lists = checkpoints_of(ctx, job, job.ref)
    except JobmonError:  # it has not started
        return ()
    return tuple(each.found for each in lists if each.found.checkpoints)
