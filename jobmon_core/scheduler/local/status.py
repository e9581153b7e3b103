"""What is known of a local job now: read from its folder, and judged by whether its shepherd lives.

A shepherd that is gone without a word is no witness: what it had not written down is not listed. Only
that a machine was restarted is a fact by itself, and so is a process that runs on without its shepherd.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.domain.slurm.job_ids import IndexSet, compact
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.local.machine import Life, Machine, Owner, is_running
from jobmon_core.scheduler.local.status_rows import StatusRow
from jobmon_core.scheduler.local.task_env import TaskEnv

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.scheduler.local.job_dir import JobDir
    from jobmon_core.scheduler.local.records import JobSpec, TaskRecord

_REBOOTED = "the machine was restarted"
_UNTENDED = "its shepherd was killed: nobody will know how it ends"
_QUEUED = "JobArrayTaskLimit"  # Slurm's word for tasks that wait for others of their array


@dataclass(frozen=True, slots=True)
class _Known:
    """A job, its shepherd, and whether that lives."""

    folder: JobDir
    spec: JobSpec
    owner: Owner
    life: Life

    @property
    def elsewhere(self) -> str:
        return f"it runs on {self.owner.host}, and only there can be seen whether it still does"


def job_status_rows(folder: JobDir, here: Machine) -> list[StatusRow]:
    """Return all that is known of a job, none where nothing is.

    Raises:
        OSError: the folder can't be read.
    """
    try:
        spec, owner = folder.spec(), folder.owner()
        if spec is None or owner is None:
            return []
        # first whether the shepherd lives, then what it wrote: its last word can't be missed
        known = _Known(folder, spec, owner, owner.life(here))
        tasks = folder.tasks()
        lines = (_of_task(known, task) for task in tasks)
        return [*_of_waiting(known, tasks), *(line for line in lines if line is not None)]
    except StateUnreadable as error:
        return [StatusRow(folder.id, JobState.UNKNOWN, folder.id, reason=str(error))]


def _of_task(known: _Known, task: TaskRecord) -> StatusRow | None:
    spec = known.spec
    line = replace(
        _blank(known),
        state=task.state,
        raw_job_id=task.own_id,
        task=task.index,
        reason=task.reason,
        cancelled_by=task.cancelled_by,
        exit_code=task.exit_code,
        signal=task.signal,
        start_s=task.start_s,
        end_s=task.end_s,
        limit_s=spec.limit_s,
        stdout=task.stdout,
        stderr=task.stderr,
        max_rss_bytes=task.max_rss_bytes,
        cpu_s=task.cpu_s,
    )
    if not line.job_state.is_alive or known.life is Life.ALIVE:
        return line
    if known.life is Life.GONE:
        untended = task.pid is not None and is_running(task.pid, task.start_ticks or 0)
        return replace(line, reason=_UNTENDED) if untended else None
    return _without_shepherd(known, line)


def _without_shepherd(known: _Known, line: StatusRow) -> StatusRow:
    """Return the line of something unfinished whose shepherd can't be seen from here."""
    if known.life is Life.REBOOTED:
        return replace(line, state=JobState.NODE_FAIL, reason=_REBOOTED)
    return replace(line, state=JobState.UNKNOWN, reason=known.elsewhere)


def _of_waiting(known: _Known, tasks: list[TaskRecord]) -> Iterator[StatusRow]:
    """Yield at most one line: about what was not started."""
    started = {task.index for task in tasks}
    waiting = [index for index in IndexSet.parse(known.spec.array) if index not in started]
    if not waiting and (known.spec.array or started):
        return
    line = replace(_blank(known), pending_indices=compact(waiting))
    rest = known.folder.rest()
    if rest is not None:
        yield replace(line, state=rest.state, cancelled_by=rest.cancelled_by, end_s=rest.end_s)
    elif known.life is Life.ALIVE:
        yield replace(line, state=JobState.PENDING, reason=_QUEUED if started else "")
    elif known.life is not Life.GONE:
        yield _without_shepherd(known, line)


def _blank(known: _Known) -> StatusRow:
    """Return what holds for every part of the job."""
    spec = known.spec
    task_env = TaskEnv(spec, known.folder.id, None, known.folder.id, known.owner.host)
    return StatusRow(
        job_id=known.folder.id,
        state=JobState.PENDING,
        raw_job_id=known.folder.id,
        submit_s=spec.submit_s,
        limit_s=spec.limit_s,
        node=task_env.node,
        name=spec.name,
        user=spec.user,
        uid=spec.uid,
        workdir=spec.workdir,
        # of many tasks only the patterns are common
        stdout=spec.stdout if spec.array else task_env.path(spec.stdout),
        stderr=spec.stderr if spec.array else task_env.path(spec.stderr),
        command=" ".join((spec.command, *spec.arguments)) if spec.command else "",
    )
