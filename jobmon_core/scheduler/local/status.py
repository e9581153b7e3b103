"""The current status of a local job: its records, and whether its supervisor still runs.

If the supervisor was killed, the end of its unfinished tasks is unknown: they are not listed. Two facts are
still certain without it: the host was restarted, or the task's process still runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.domain.slurm.job_ids import IndexSet, compact
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.local.status_rows import StatusRow, same_fields
from jobmon_core.scheduler.local.task_env import TaskEnv
from jobmon_core.system.process import ProcessId, ProcessStatus, start_ticks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.scheduler.local.job_dir import JobDir, JobSpec, TaskRecord

_REBOOTED = "the machine was restarted"
_SUPERVISOR_KILLED = "its supervisor was killed: how the job ends will not be recorded"
_QUEUED = "JobArrayTaskLimit"  # Slurm's reason for tasks that wait for others of their array


@dataclass(frozen=True, slots=True)
class _Job:
    folder: JobDir
    spec: JobSpec
    owner: ProcessId
    supervisor: ProcessStatus


def job_status_rows(folder: JobDir, observer: ProcessId) -> list[StatusRow]:
    """Return the status of all tasks of a job, as seen by ``observer``; empty if none is known.

    Raises:
        OSError: the directory cannot be read.
    """
    try:
        spec, owner = folder.spec(), folder.owner()
        if spec is None or owner is None:
            return []
        # the supervisor's status before its records: otherwise its last record could be missed
        job = _Job(folder, spec, owner, owner.status(observer))
        tasks = folder.tasks()
        rows = (_task_row(job, task) for task in tasks)
        return [*_pending_row(job, tasks), *(row for row in rows if row is not None)]
    except StateUnreadable as error:
        return [StatusRow(folder.id, JobState.UNKNOWN, folder.id, reason=str(error))]


def _task_row(job: _Job, task: TaskRecord) -> StatusRow | None:
    row = replace(_job_row(job), task=task.index, **same_fields(task, StatusRow))
    if not row.job_state.is_alive or job.supervisor is ProcessStatus.RUNNING:
        return row
    if job.supervisor is ProcessStatus.EXITED:
        return replace(row, reason=_SUPERVISOR_KILLED) if _still_runs(task) else None
    return _without_supervisor(job, row)


def _still_runs(task: TaskRecord) -> bool:
    if task.pid is None or task.start_ticks is None:
        return False
    return start_ticks(task.pid) == task.start_ticks


def _without_supervisor(job: _Job, row: StatusRow) -> StatusRow:
    """Return the row of an unfinished task whose supervisor was on another host or before a reboot."""
    if job.supervisor is ProcessStatus.REBOOTED:
        return replace(row, state=JobState.NODE_FAIL, reason=_REBOOTED)
    reason = f"it runs on {job.owner.host}, where alone its status is known"
    return replace(row, state=JobState.UNKNOWN, reason=reason)


def _pending_row(job: _Job, tasks: list[TaskRecord]) -> Iterator[StatusRow]:
    """Yield at most one row, for all tasks that have not started."""
    started = {task.index for task in tasks}
    pending = [index for index in IndexSet.parse(job.spec.array) if index not in started]
    if not pending and (job.spec.array or started):
        return
    row = replace(_job_row(job), pending_indices=compact(pending))
    cancelled = job.folder.never_started()
    if cancelled is not None:
        yield replace(row, state=cancelled.state, cancelled_by=cancelled.cancelled_by, end_s=cancelled.end_s)
    elif job.supervisor is ProcessStatus.RUNNING:
        yield replace(row, state=JobState.PENDING, reason=_QUEUED if started else "")
    elif job.supervisor is not ProcessStatus.EXITED:
        yield _without_supervisor(job, row)


def _job_row(job: _Job) -> StatusRow:
    """Return the fields that all tasks of the job share."""
    spec = job.spec
    task_env = TaskEnv(spec, job.folder.id, None, job.folder.id, job.owner.host)
    row = StatusRow(job_id=job.folder.id, state=JobState.PENDING, raw_job_id=job.folder.id)
    return replace(
        replace(row, **same_fields(spec, StatusRow)),
        nodes=task_env.node,
        # the tasks of an array share only the unexpanded patterns
        stdout=spec.stdout if spec.array else task_env.path(spec.stdout),
        stderr=spec.stderr if spec.array else task_env.path(spec.stderr),
        command=" ".join((spec.command, *spec.arguments)) if spec.command else "",
    )
