"""Apply a squeue reply to a watched job: states, history, and which tasks left the queue.

That squeue drops a task or shows its end opens an `EndInquiry`; `conclude` decides later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jobmon_core.domain.job.tracking.model import EndInquiry, StateChange, Task, WatchedJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.slurm.job_ids import IndexSet, compact, includes
from jobmon_core.domain.slurm.rows import JobRow
from jobmon_core.domain.slurm.states import Phase

_HISTORY_LIMIT = 200  # state changes kept per task, so that a job requeued for weeks does not grow forever


def apply_queue(
    job: WatchedJob, rows: Sequence[JobRow], asked_s: float, policy: Policy, now_s: float | None = None
) -> WatchedJob:
    """Return the job after the reply to a query sent at ``asked_s`` (Unix seconds).

    ``now_s`` is the present time, if another monitor sent the query a while ago.
    """
    opened = EndInquiry.opened(asked_s, policy, asked_s if now_s is None else now_s)
    own = [row for row in rows if _is_watched(job, row) and _is_current_run(job, row)]
    pending = _pending_indices(job, own)
    reason = next((row.reason for row in own if row.pending_indices), "")
    job = replace(
        mark_answered(job, asked_s),
        submitted_s=first_submission(job, own),
        array_indices=_array_indices(job, own),
        pending_indices=str(pending),
        pending_reason=reason,
        pending_reason_since_s=job.pending_reason_since_s if reason == job.pending_reason else asked_s,
    )
    remainder = _remainder_rows(job, own)
    tasks = dict(job.tasks)
    if job.watched_part and pending.spans:
        tasks.setdefault(job.watched_part, Task(job.watched_part))
    listed: set[str] = set()
    for row in sorted(own, key=lambda row: row.pending_indices is not None):  # single tasks first
        for key in [] if row in remainder else _listed_keys(row, tasks):
            listed.add(key)
            tasks[key] = _apply_row(tasks.get(key, Task(key)), row, opened)
    for key in _unlisted_keys(job, tasks, listed, pending):
        tasks[key] = _mark_unlisted(tasks.get(key, Task(key)), remainder, opened)
    return replace(job, tasks=tasks)


def mark_answered(job: WatchedJob, asked_s: float) -> WatchedJob:
    """Return the job after the scheduler answered a query sent at ``asked_s``, whatever the answer."""
    return replace(job, answered_s=asked_s, stale_since_s=None, stale_why="")


def mark_unreachable(job: WatchedJob, why: str, now_s: float) -> WatchedJob:
    """Return the job after a query without an answer: only the age of jobmon's knowledge changes."""
    since_s = job.stale_since_s if job.stale_since_s is not None else now_s
    return replace(job, stale_since_s=since_s, stale_why=why)


def first_submission(job: WatchedJob, rows: Sequence[JobRow]) -> int | None:
    """Return when the job was first submitted; None if jobmon saw no submission."""
    if job.submitted_s is not None:
        return job.submitted_s
    return min((row.submit_s for row in rows if row.submit_s is not None), default=None)


def latest(*times_s: int | None) -> int | None:
    """Return the latest of the known times; None if none is known."""
    return max((time_s for time_s in times_s if time_s is not None), default=None)


def _is_watched(job: WatchedJob, row: JobRow) -> bool:
    if row.ref.job_id != job.job_id:
        return False
    part = job.watched_part
    return not part or row.ref.key == part or includes(row.pending_indices, part)


def _is_current_run(job: WatchedJob, row: JobRow) -> bool:
    """Whether the row is about the task's current run, not an older run or another job with this id."""
    if row.submit_s is None:
        return True
    if not job.is_own_run(row.submit_s):
        return False
    task = job.tasks.get(row.ref.key)
    return task is None or task.submit_s is None or row.submit_s >= task.submit_s or row.state.is_alive


def _pending_indices(job: WatchedJob, rows: Sequence[JobRow]) -> IndexSet:
    pending = [row.pending_indices for row in rows if row.pending_indices and row.state.is_alive]
    if job.watched_part:
        return IndexSet.parse(job.watched_part if pending else "")
    return IndexSet(tuple(span for indices in pending for span in indices.spans))


def _array_indices(job: WatchedJob, rows: Sequence[JobRow]) -> str:
    """Return the known indices of the array, extended by those that squeue lists or that were submitted."""
    if job.watched_part:
        return job.array_indices
    known = set(IndexSet.parse(job.array_indices))
    listed = {row.ref.task for row in rows if row.ref.task is not None}
    listed |= {index for row in rows if row.pending_indices for index in row.pending_indices}
    submitted = set(IndexSet.parse(job.submitted_indices))
    if listed and listed <= submitted:
        listed = submitted  # squeue never lists those cancelled before the first query
    return job.array_indices if listed <= known else compact([*known, *listed])


def _remainder_rows(job: WatchedJob, rows: Sequence[JobRow]) -> list[JobRow]:
    """Return the rows that squeue shows for an array after its pending tasks were cancelled.

    Slurm names the tasks in such a row (``12_[2-4]``), or only the array (``12``).
    """
    return [
        row
        for row in rows
        if not row.ref.key and (job.array_indices if row.pending_indices is None else not row.state.is_alive)
    ]


def _listed_keys(row: JobRow, tasks: dict[str, Task]) -> list[str]:
    """Return the tasks that a row is about; a row of pending tasks matters only for those known already."""
    if row.pending_indices is None:
        return [row.ref.key]
    return [key for key in tasks if includes(row.pending_indices, key)]


def _unlisted_keys(job: WatchedJob, tasks: dict[str, Task], listed: set[str], pending: IndexSet) -> list[str]:
    """Return the known tasks that squeue does not list, ended ones included."""
    expected = {str(index) for index in IndexSet.parse(job.array_indices) if index not in pending}
    expected |= {key for key in tasks if not includes(pending, key)}
    if not expected and not listed and not pending.spans:
        expected = {job.watched_part}
    return sorted(expected - listed)


def _apply_row(task: Task, row: JobRow, opened: EndInquiry) -> Task:
    """Return the task after a row; ``opened`` is the inquiry that this reply opens if the task has left."""
    is_alive = row.state.is_alive
    is_new_run = _is_later(row.submit_s, task.submit_s)
    if task.end is not None and not is_alive and not is_new_run:
        return task
    task = replace(
        task,
        state=row.state,
        raw_state=row.raw_state,
        reason=row.reason,
        history=_extend_history(task, row, opened.since_s, is_new_run=is_new_run),
        raw_job_id=row.raw_job_id or task.raw_job_id,
        submit_s=latest(row.submit_s, task.submit_s),
        limit_s=row.limit_s or task.limit_s,
    )
    if is_alive:  # this voids any end found so far: Slurm requeued the task
        start_s, nodes = _start_of(task, row)
        return replace(
            task,
            start_s=start_s,
            nodes=nodes,
            restarts=task.restarts + is_new_run,
            inquiry=None,
            end=None,
            diagnosis=None,
        )
    is_unseen_run = is_new_run and task.end is not None
    inquiry = (None if is_unseen_run else task.inquiry) or opened
    if is_unseen_run:  # Slurm requeued the task, and it has ended again
        task = replace(task, start_s=None, restarts=task.restarts + 1, end=None, diagnosis=None)
    return replace(
        task,
        start_s=row.start_s or task.start_s,
        nodes=row.nodes or task.nodes,
        inquiry=replace(
            inquiry, queue_state=row.state, queue_raw_state=row.raw_state, last_queue_s=opened.since_s
        ),
    )


def _start_of(task: Task, row: JobRow) -> tuple[int | None, str]:
    """Return the start and the nodes of a living task; the listing of PBS has neither, but its record had."""
    if row.pending_indices is not None:
        return None, row.nodes
    if row.state.phase is Phase.WAITING:
        return row.start_s, row.nodes
    return row.start_s or task.start_s, row.nodes or task.nodes


def _is_later(submit_s: int | None, before_s: int | None) -> bool:
    return submit_s is not None and before_s is not None and submit_s > before_s


def _extend_history(task: Task, row: JobRow, asked_s: float, *, is_new_run: bool) -> tuple[StateChange, ...]:
    if task.history and not is_new_run:
        last = task.history[-1]
        if (last.state, last.reason) == (row.raw_state, row.reason):
            return task.history
    return (*task.history, StateChange(row.raw_state, asked_s, row.reason))[-_HISTORY_LIMIT:]


def _mark_unlisted(task: Task, remainder: Sequence[JobRow], opened: EndInquiry) -> Task:
    """Open or continue the inquiry about a task that left the queue.

    If it may be one of the array's cancelled pending tasks, the inquiry notes their end.
    """
    if task.end is not None:
        return task
    inquiry = replace(task.inquiry or opened, last_queue_s=opened.since_s)
    for row in remainder:
        unnamed = row.pending_indices is None and not task.has_started
        if not row.state.is_alive and (unnamed or includes(row.pending_indices, task.key)):
            inquiry = replace(inquiry, remaining_state=row.state, remaining_raw_state=row.raw_state)
    return replace(task, inquiry=inquiry)
