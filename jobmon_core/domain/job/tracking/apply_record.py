"""Apply slurmctld's record of a job (``scontrol show job``): its name, node, restarts and true exit codes.

Nothing here decides that a task ended; the record becomes evidence in the task's `EndInquiry`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jobmon_core.domain.job.tracking.apply_queue import first_submission, latest
from jobmon_core.domain.job.tracking.model import EndInquiry, Task, WatchedJob
from jobmon_core.domain.slurm.job_ids import includes
from jobmon_core.domain.slurm.rows import JobRow, NotListed, RecordAnswer, Unreachable
from jobmon_core.domain.slurm.states import JobState, Phase

_SAME_SUBMISSION_S = 5  # the tasks of one submission get submit times that differ by less than this


def apply_record(job: WatchedJob, answer: RecordAnswer, now_s: float) -> WatchedJob:
    """Return the job after slurmctld's answer to a query for its record, sent at ``now_s`` (Unix seconds)."""
    job = replace(job, record_asked_s=now_s)
    match answer:
        case Unreachable():
            return job
        case NotListed(why):
            job = replace(job, unprovable_why=why) if why else job
            return job.update_inquiries(lambda _, inquiry: _mark_record_gone(inquiry))
        case records:
            job = _drop_reused_id(job, records)
            own = [record for record in records if job.is_own_run(record.submit_s)]
            job = _apply_restarts(_apply_details(job, own), own)
            return job.update_inquiries(lambda task, inquiry: _add_record(task, inquiry, own))


def _mark_record_gone(inquiry: EndInquiry) -> EndInquiry:
    """Note that slurmctld no longer knows the job.

    If the record showed the job alive before, the end that squeue showed belongs to an earlier run. Only
    accounting knows how the last run ended.
    """
    inquiry = replace(inquiry, record_gone=True)
    if inquiry.record is None or not inquiry.record.state.is_alive:
        return inquiry
    return replace(inquiry, record=None, queue_state=None, queue_raw_state="")


def _drop_reused_id(job: WatchedJob, records: Sequence[JobRow]) -> WatchedJob:
    """Drop what was learned from a newer job to which Slurm gave the same id; only the history keeps it.

    This happens when slurmctld starts without its saved state. A requeue is a later submission too, but
    Slurm counts requeues: a later submission without any restart is another job.
    """
    if job.submitted_s is None:
        return replace(job, submitted_s=first_submission(job, records))
    latest_s = job.submitted_s + _SAME_SUBMISSION_S
    other_jobs_s = [
        record.submit_s
        for record in records
        if record.restarts == 0 and record.submit_s is not None and record.submit_s > latest_s
    ]
    if not other_jobs_s:
        return job
    not_after_s = min(other_jobs_s) - 1
    reset = {
        key: replace(
            task,
            state=JobState.UNKNOWN,
            raw_state=JobState.UNKNOWN,
            reason="",
            submit_s=job.submitted_s,
            start_s=None,
            limit_s=None,
            nodes="",
            restarts=max(0, task.restarts - 1),  # the newer job counted as one
            inquiry=None,
            end=None,
            diagnosis=None,
        )
        for key, task in job.tasks.items()
        if task.submit_s is not None and task.submit_s > not_after_s
    }
    return replace(job, not_after_s=not_after_s, tasks={**job.tasks, **reset})


def _apply_details(job: WatchedJob, records: Sequence[JobRow]) -> WatchedJob:
    watched = [record for record in records if record.ref.key == job.watched_part]
    described = watched if job.watched_part and watched else records
    if not described:
        return job
    first = described[0]
    batch_host = next((record.batch_host for record in described if record.batch_host), "")
    return replace(
        job,
        name=first.name or job.name,
        user=job.user or first.user,
        partition=first.partition or job.partition,
        workdir=first.workdir or job.workdir,
        cluster=job.cluster or first.cluster,
        command=first.command or job.command,
        batch_host=batch_host or job.batch_host,
    )


def _apply_restarts(job: WatchedJob, records: Sequence[JobRow]) -> WatchedJob:
    """Return the job with Slurm's own count of restarts, which replaces jobmon's.

    Slurm counts a requeue at once but updates the submit time only after it cleaned up the old run. So
    the later of both submit times is stored too, or jobmon would count the same restart again.
    """
    updated = {}
    for record in records:
        task = job.tasks.get(record.ref.key)
        if task is not None and record.pending_indices is None:
            restarts = task.restarts if record.restarts is None else record.restarts
            submit_s = latest(record.submit_s, task.submit_s)
            task = replace(task, restarts=restarts, submit_s=submit_s)
            updated[task.key] = _with_start(task, record)
    return replace(job, tasks={**job.tasks, **updated})


def _with_start(task: Task, record: JobRow) -> Task:
    """Return a running task with what the queue does not list of it in PBS: its start, limit and nodes."""
    if record.state.phase is not Phase.ACTIVE or task.state.phase is not Phase.ACTIVE:
        return task
    return replace(
        task,
        start_s=task.start_s or record.start_s,
        limit_s=task.limit_s or record.limit_s,
        nodes=task.nodes or record.nodes,
    )


def _add_record(task: Task, inquiry: EndInquiry, records: Sequence[JobRow]) -> EndInquiry:
    """Add the task's own record, or that of the pending tasks it belongs to."""
    matching = [
        record
        for record in records
        if includes(record.pending_indices, task.key)
        or (record.pending_indices is None and record.ref.key == task.key)
    ]
    return replace(inquiry, record=matching[-1]) if matching else replace(inquiry, record_gone=True)
