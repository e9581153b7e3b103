"""The current status of a local job: its records, and whether its supervisor still runs.

If the supervisor was killed, its unfinished tasks are not listed, unless their process still runs.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.domain.slurm.job_ids import IndexSet, compact
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.local.task_env import TaskEnv
from jobmon_core.scheduler.status_row import StatusRow, same_fields
from jobmon_core.system.process import ProcessId, ProcessStatus, start_ticks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.scheduler.local.job_dir import JobDir, JobSpec, TaskRecord

_SUPERVISOR_KILLED = "its supervisor was killed: how the job ends will not be recorded"
_WAITS = "Dependency"
_QUEUED = "JobArrayTaskLimit"  # Slurm's reason for tasks that wait for others of their array


def job_status_rows(folder: JobDir, observer: ProcessId) -> list[StatusRow]:
    """Return the status of all tasks of a job, as seen by ``observer``; empty if none is known.

    Raises:
        OSError: the directory or a file in it cannot be read.
    """
    try:
        spec, owner = folder.spec(), folder.owner()
        if spec is None or owner is None:
            return []
        # the supervisor's status before its records: otherwise its last record could be missed
        supervisor = owner.status(observer)
        tasks, cancelled = folder.tasks(), folder.never_started_record()
    except StateUnreadable as error:
        return [StatusRow(folder.id, JobState.UNKNOWN, folder.id, reason=str(error))]
    shared = _shared_fields(folder.id, spec, owner.host)
    pending = ((row, None) for row in _pending_row(shared, spec, tasks, cancelled))
    started = ((replace(shared, task=task.index, **same_fields(task, StatusRow)), task) for task in tasks)
    rows = (_checked(row, task, supervisor, owner.host) for row, task in (*pending, *started))
    return [row for row in rows if row is not None]


def _shared_fields(job_id: int, spec: JobSpec, host: str) -> StatusRow:
    """Return the fields that all tasks of the job share."""
    task_env = TaskEnv(spec, job_id, None, job_id, host)
    return replace(
        StatusRow(job_id, JobState.PENDING, job_id, **same_fields(spec, StatusRow)),
        nodes=task_env.node,
        # the tasks of an array share only the unexpanded patterns
        stdout=spec.stdout if spec.array else task_env.path(spec.stdout),
        stderr=spec.stderr if spec.array else task_env.path(spec.stderr),
        command=shlex.join((spec.command, *spec.arguments)) if spec.command else "",
    )


def _pending_row(
    shared: StatusRow, spec: JobSpec, tasks: list[TaskRecord], cancelled: TaskRecord | None
) -> Iterator[StatusRow]:
    """Yield at most one row, for all tasks that have not started."""
    started = {task.index for task in tasks}
    pending = [index for index in IndexSet.parse(spec.array) if index not in started]
    if not pending and (spec.array or started):
        return
    row = replace(shared, pending_indices=compact(pending))
    if cancelled is None:
        waits = _WAITS if spec.after_ok else ""
        yield replace(row, reason=_QUEUED if started else waits)
    else:
        end = replace(row, state=cancelled.state, reason=cancelled.reason)
        yield replace(end, cancelled_by=cancelled.cancelled_by, end_s=cancelled.end_s)


def _checked(
    row: StatusRow, task: TaskRecord | None, supervisor: ProcessStatus, host: str
) -> StatusRow | None:
    """Return the row, corrected if the supervisor has ended; None if nothing shows the task's fate."""
    if not row.job_state.is_alive or supervisor is ProcessStatus.RUNNING:
        return row
    if supervisor is ProcessStatus.REBOOTED:
        return replace(row, state=JobState.NODE_FAIL, reason="the machine was restarted")
    if supervisor is ProcessStatus.REMOTE:
        reason = f"only {host}, where it was submitted, knows its status"
        return replace(row, state=JobState.UNKNOWN, reason=reason)
    if task is None or task.pid is None or task.start_ticks is None:
        return None
    still_runs = start_ticks(task.pid) == task.start_ticks
    return replace(row, reason=_SUPERVISOR_KILLED) if still_runs else None
