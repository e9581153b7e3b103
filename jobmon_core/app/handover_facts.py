"""Use case: collect what someone who takes over the jobs needs, from jobmon's own files if possible."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.artifacts import checkpoints_of
from jobmon_core.app.jobs.find import Selection, select
from jobmon_core.app.jobs.output import known_files
from jobmon_core.app.jobs.overview import config_fault, may_still_run, overview, worst_task
from jobmon_core.app.live.job_view import JobFiles, JobView, job_view, read_files
from jobmon_core.app.live.patrol import open_groups
from jobmon_core.app.runs.rerun import plan_rerun
from jobmon_core.context import backend_names
from jobmon_core.domain.artifacts.checkpoints.model import FoundCheckpoints
from jobmon_core.domain.backends import DEFAULT_BACKEND, is_local
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job.handover import Dependency, dependencies
from jobmon_core.domain.many.provenance.model import ScriptKind
from jobmon_core.domain.many.provenance.script_references import without_values
from jobmon_core.domain.messages.what_follows import resume_command
from jobmon_core.domain.slurm.job_ids import IndexSet, compact
from jobmon_core.domain.slurm.states import Outcome, Phase
from jobmon_core.scheduler.backends import cancel_command
from jobmon_core.system.helper import Helper, HelperFailed
from jobmon_core.system.process import read_stat
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from jobmon_core.context import Context
    from jobmon_core.domain.job.notes import Note
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.many.groups.model import Group
    from jobmon_core.domain.many.provenance.model import RunRecord
    from jobmon_core.lifecycle.health import JobStatus

_NOT_DONE = (Outcome.FAILURE, Outcome.UNKNOWN)
_OF_CHAIN = ("--dependency=", "--kill-on-invalid-dep=")  # what `jobmon chain` adds to a stage
_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class HandoverJob:
    """One job, and how to go on with it."""

    view: JobView
    record: RunRecord | None
    logs: tuple[str, ...]
    waits_for: tuple[Dependency, ...]
    checkpoints: tuple[FoundCheckpoints, ...]
    look: tuple[str, ...]  # commands of the service that runs it, beside those of jobmon
    stop: tuple[str, ...]
    resume: Resume
    notes: tuple[Note, ...]  # of the user

    @property
    def job(self) -> WatchedJob:
        """What jobmon knows of it."""
        return self.view.job


@dataclass(frozen=True, slots=True)
class Handover:
    """Everything on the handover page."""

    at_s: float  # Unix seconds
    user: str
    host: str
    jobs: tuple[HandoverJob, ...]  # those to go on with: active or not successful
    done: tuple[JobStatus, ...] = ()  # those that succeeded
    groups: tuple[Group, ...] = ()  # open ones
    problems: tuple[str, ...] = ()
    no_messages: str = ""  # why


def collect(ctx: Context, state_ids: Collection[str]) -> Handover:
    """Collect the jobs with these state ids; without any, those that `jobmon status` lists."""
    now_s = ctx.clock.now()
    known = overview(ctx)
    chosen = select(known.jobs, Selection(all=bool(state_ids)), now_s).jobs
    if state_ids:
        chosen = [each for each in chosen if each.job.id in state_ids]
    else:
        chosen = [each for each in chosen if not known.is_followed(each.job)]
    done = [each for each in chosen if _has_succeeded(each.job)]
    left = sorted((each for each in chosen if not _has_succeeded(each.job)), key=lambda each: each.job.closed)
    checkpoints, problem = _checkpoints(ctx, [each.job for each in left])
    files, unread = read_files(ctx, (each.job for each in left))
    jobs = tuple(
        _handover_job(
            ctx,
            job_view(ctx, known, each, files.get(each.job.id, JobFiles())),
            checkpoints.get(each.job.id, ()),
        )
        for each in left
    )
    problems = [*(f"a state file cannot be read: {each.why}" for each in known.unreadable), problem]
    if unread:
        problems.append(f"results and markers could not be read: {unread}")
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


def _handover_job(ctx: Context, view: JobView, checkpoints: tuple[FoundCheckpoints, ...]) -> HandoverJob:
    job = view.job
    record = ctx.run_record(job.id).taken()
    script = record.script.text if record and record.script else None
    task = worst_task(job.tasks.values())
    return HandoverJob(
        view,
        record,
        tuple(known_files(job, task)) if task else (),
        dependencies(record.arguments if record else (), script or ""),
        checkpoints,
        ctx.manual_commands(job).look if may_still_run(job) else (),
        _how_to_stop(ctx, job),
        _how_to_restart(job, checkpoints) or _how_to_resume(ctx, job, record),
        ctx.notes(job.id).read().notes,
    )


def _checkpoints(
    ctx: Context, jobs: Iterable[WatchedJob]
) -> tuple[dict[str, tuple[FoundCheckpoints, ...]], str]:
    kind = dict[str, tuple[FoundCheckpoints, ...]]
    try:
        return Helper().run(kind, lambda: {job.id: _of_job(ctx, job) for job in jobs}, _TIMEOUT_S), ""
    except HelperFailed as error:
        return {}, f"the checkpoints could not be looked at: {error.reason}"


def _of_job(ctx: Context, job: WatchedJob) -> tuple[FoundCheckpoints, ...]:
    try:
        lists = checkpoints_of(ctx, job, job.ref)
    except JobmonError:  # it has not started
        return ()
    return tuple(each.found for each in lists if each.found.checkpoints or each.found.others)


@dataclass(frozen=True, slots=True)
class Resume:
    """How to run again what a job ran."""

    command: str = ""  # empty if there is none
    note: str = ""  # or why there is none


def _how_to_stop(ctx: Context, job: WatchedJob) -> tuple[str, ...]:
    if job.closed or job.outcome is not None:
        return ()
    if job.backend == DEFAULT_BACKEND:
        return (cancel_command(job),)
    if job.remote:
        return ctx.manual_commands(job).stop
    pids = _pids(ctx, job)
    return (f"kill {' '.join(map(str, pids))}",) if pids else ()


def _pids(ctx: Context, job: WatchedJob) -> list[int]:
    """Those that are watched; of a local job, the one that runs its scripts."""
    running = [
        task for task in job.tasks.values() if task.end is None and task.state.phase is not Phase.WAITING
    ]
    if not _runs_scripts_here(job):
        from jobmon_core.scheduler.process.client import ProcessScheduler

        return ProcessScheduler(ctx.home.backend_folder(job.backend)).running_pids(job.job_id)
    from jobmon_core.scheduler.local.client import LocalScheduler

    scheduler = LocalScheduler(ctx.home.backend_folder("local"))
    scripts = (scheduler.main_pid(job.job_id, task.raw_job_id or job.job_id) for task in running)
    started = (read_stat(pid) for pid in scripts if pid is not None)
    return [status.parent for status in started if status and status.parent > 1]


def _runs_scripts_here(job: WatchedJob) -> bool:
    return is_local(job.backend) and job.backend in backend_names()


def _how_to_restart(job: WatchedJob, checkpoints: Iterable[FoundCheckpoints]) -> Resume | None:
    if job.attempt is None:
        return None
    newest = ((each.folder, each.newest_complete) for each in checkpoints)
    best = next((f"{folder}/{new.path}" for folder, new in newest if new and new.is_complete), "")
    goes_on = f"It goes on from {best}." if best else "No checkpoint is known: it begins from the start."
    by_itself = " jobmon does that by itself; `jobmon restarts` says when." if job.restart_due_s else ""
    return Resume(f"jobmon restart {job.ref}", f"{goes_on}{by_itself}")


def _how_to_resume(ctx: Context, job: WatchedJob, record: RunRecord | None) -> Resume:
    if job.settings and job.settings.chain and job.outcome is not Outcome.SUCCESS:
        if job.settings.chain.later:
            note = "This submits this stage of the chain and those after it."
            return Resume(resume_command(job.settings.chain), note)
        if record and not record.arguments_hidden:
            note = "This submits the last stage of the chain, which then waits for no other stage."
            return Resume(_last_stage(job, record), note)
    if is_local(job.backend) and not _runs_scripts_here(job):
        return Resume(note="jobmon only watched these processes: start the program as it was started")
    start = ctx.manual_commands(job)
    if start.start or start.start_note:
        return Resume(start.start, start.start_note)
    if record and record.script and record.script.kind is ScriptKind.COMMAND and not record.arguments_hidden:
        command = shlex.join(("jobmon", "run", "--", *record.arguments))
        return Resume(f"cd {shlex.quote(record.folder)} && {command}")
    return _rerun(ctx, job)


def _rerun(ctx: Context, job: WatchedJob) -> Resume:
    try:
        plan = plan_rerun(ctx, str(job.ref), ())
    except JobmonError as error:
        return Resume(note=str(error))
    changes = "; ".join(plan.changes)
    if failed := failed_indices(job):
        only = "This runs the tasks that had failed when the page was written; without --array, all of them."
        return Resume(f"jobmon rerun {job.ref} --array={failed}", f"{only} {changes}".rstrip())
    return Resume(f"jobmon rerun {job.ref}", changes)


def failed_indices(job: WatchedJob) -> str:
    """Return the indices of array tasks that failed or have no known outcome; empty if all or none do."""
    ended = [task for task in job.tasks.values() if task.end and task.key.isdigit()]
    failed = [int(task.key) for task in ended if task.end and task.end.outcome in _NOT_DONE]
    is_part = job.is_array and 0 < len(failed) < len(IndexSet.parse(job.array_indices))
    return compact(failed) if is_part else ""


def _last_stage(job: WatchedJob, record: RunRecord) -> str:
    """Without what made it wait for the others."""
    backend = () if job.backend == DEFAULT_BACKEND else ("--backend", job.backend)
    words = [word for word in record.arguments if not word.startswith(_OF_CHAIN)]
    command = shlex.join(("jobmon", "submit", *backend, *without_values(words)))
    return f"cd {shlex.quote(record.folder)} && {command}"
