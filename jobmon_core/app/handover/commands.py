"""Which commands stop a job, and which submit again what it ran."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.app.remote.manual_commands import manual_commands
from jobmon_core.app.runs.rerun import plan_rerun
from jobmon_core.context import backend_names
from jobmon_core.domain.backends import DEFAULT_BACKEND, is_local
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.messages.chain_stage import resume_command
from jobmon_core.domain.provenance.arguments import without_values
from jobmon_core.domain.provenance.model import ScriptKind
from jobmon_core.domain.slurm.job_ids import IndexSet, compact
from jobmon_core.domain.slurm.states import Outcome, Phase
from jobmon_core.scheduler.backends import cancel_command
from jobmon_core.system.process import read_stat

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.provenance.model import RunRecord
    from jobmon_core.domain.tracking.model import WatchedJob


_NOT_DONE = (Outcome.FAILURE, Outcome.UNKNOWN)
_OF_CHAIN = ("--dependency=", "--kill-on-invalid-dep=")  # what `jobmon chain` adds to a stage


@dataclass(frozen=True, slots=True)
class Resume:
    """How to run again what a job ran."""

    command: str = ""  # empty if there is none
    note: str = ""  # what to know about it, or why there is no command


def how_to_stop(ctx: Context, job: WatchedJob) -> tuple[str, ...]:
    """Return the commands that end a job; none if it has ended, is no longer watched, or if none is known."""
    if job.closed or job.outcome is not None:
        return ()
    if job.backend == DEFAULT_BACKEND:
        return (cancel_command(job),)
    if job.remote:
        return manual_commands(ctx, job).stop
    pids = _pids(ctx, job)
    return (f"kill {' '.join(map(str, pids))}",) if pids else ()


def _pids(ctx: Context, job: WatchedJob) -> list[int]:
    """Return the processes to end: those that are watched; of a local job, the one that runs its scripts."""
    running = [
        task for task in job.tasks.values() if task.end is None and task.state.phase is not Phase.WAITING
    ]
    if not _runs_scripts_here(job):
        return [task.raw_job_id for task in running if task.raw_job_id is not None]
    from jobmon_core.scheduler.local.client import LocalScheduler

    scheduler = LocalScheduler(ctx.home.backend_folder("local"))
    scripts = (scheduler.main_pid(job.job_id, task.raw_job_id or job.job_id) for task in running)
    started = (read_stat(pid) for pid in scripts if pid is not None)
    return [status.parent for status in started if status and status.parent > 1]


def _runs_scripts_here(job: WatchedJob) -> bool:
    """Whether the job's backend takes scripts and runs them on this machine."""
    return is_local(job.backend) and job.backend in backend_names()


def how_to_resume(ctx: Context, job: WatchedJob, record: RunRecord | None) -> Resume:
    """Return the command that runs again what a job ran, whether or not it has ended."""
    if job.settings and job.settings.chain and job.outcome is not Outcome.SUCCESS:
        if job.settings.chain.later:
            note = "This submits this stage of the chain and those after it."
            return Resume(resume_command(job.settings.chain), note)
        if record and not record.arguments_hidden:
            note = "This submits the last stage of the chain, which then waits for no other stage."
            return Resume(_last_stage(job, record), note)
    if is_local(job.backend) and not _runs_scripts_here(job):
        return Resume(note="jobmon only watched these processes: start the program as it was started")
    start = manual_commands(ctx, job)
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
    """Return the command that submits the last stage of a chain, without what made it wait for the others."""
    backend = () if job.backend == DEFAULT_BACKEND else ("--backend", job.backend)
    words = [word for word in record.arguments if not word.startswith(_OF_CHAIN)]
    command = shlex.join(("jobmon", "submit", *backend, *without_values(words)))
    return f"cd {shlex.quote(record.folder)} && {command}"
