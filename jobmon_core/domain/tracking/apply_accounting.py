"""Folding what accounting said into what is known; nothing here decides that a part ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jobmon_core.domain.slurm.job_ids import IndexSet, compact
from jobmon_core.domain.slurm.rows import AccountingRow, Disabled, Unreachable
from jobmon_core.domain.tracking.apply_queue import each_inquiry, open_inquiry
from jobmon_core.domain.tracking.model import AccountingStatus, EndInquiry, Task, WatchedJob
from jobmon_core.domain.tracking.policy import Policy


def apply_accounting(
    job: WatchedJob, answer: tuple[AccountingRow, ...] | Disabled | Unreachable, policy: Policy, now_s: float
) -> WatchedJob:
    """Take in what accounting answered about this job, for every part under inquiry."""
    match answer:
        case Disabled():
            return each_inquiry(
                job,
                lambda _, inquiry: replace(
                    _asked(inquiry, policy, now_s), accounting=AccountingStatus.DISABLED
                ),
            )
        case Unreachable(why):
            return each_inquiry(job, lambda _, inquiry: _unanswered(inquiry, why, policy, now_s))
        case told:
            rows = [row for row in told if job.is_ours(row.submit_s)]
            job = _members_from(_named_by(job, rows), rows, policy, now_s)
            return each_inquiry(job, lambda task, inquiry: _told(task, inquiry, rows, policy, now_s))


def _named_by(job: WatchedJob, rows: Sequence[AccountingRow]) -> WatchedJob:
    """Learn from accounting what slurmctld forgot before it was asked."""
    if not rows:
        return job
    return replace(
        job,
        name=job.name or rows[-1].name,
        partition=job.partition or rows[-1].partition,
        workdir=job.workdir or rows[-1].workdir,
        cluster=job.cluster or rows[-1].cluster,
    )


def _unanswered(inquiry: EndInquiry, why: str, policy: Policy, now_s: float) -> EndInquiry:
    later = _asked(inquiry, policy, now_s)
    if inquiry.accounting is AccountingStatus.FOUND:
        return later
    return replace(later, accounting=AccountingStatus.UNREACHABLE, accounting_error=why)


def _asked(inquiry: EndInquiry, policy: Policy, now_s: float) -> EndInquiry:
    asked = inquiry.attempts + 1
    return replace(inquiry, attempts=asked, next_query_s=now_s + policy.accounting_wait_s(asked))


def _told(
    task: Task, inquiry: EndInquiry, rows: Sequence[AccountingRow], policy: Policy, now_s: float
) -> EndInquiry:
    row = _newest_row(task, rows) or _row_of_the_rest(task, inquiry, rows)
    asked = replace(
        _asked(inquiry, policy, now_s),
        siblings_found=bool(rows),
        accounting_is_fresh=any((row.end_s or row.start_s or 0) >= inquiry.since_s for row in rows),
    )
    if row is None:
        return replace(asked, accounting=AccountingStatus.NO_RECORD)
    return replace(
        asked,
        row=row,
        accounting=AccountingStatus.NO_RECORD if row.state.is_alive else AccountingStatus.FOUND,
    )


def _newest_row(task: Task, rows: Sequence[AccountingRow]) -> AccountingRow | None:
    """Return the newest run of the part; an older run than the one watched proves nothing."""
    mine = [row for row in rows if _speaks_of(row, task)]
    return mine[-1] if mine else None


def _row_of_the_rest(task: Task, inquiry: EndInquiry, rows: Sequence[AccountingRow]) -> AccountingRow | None:
    """Return the row of an array whose rest was cancelled, which for some seconds names no indices."""
    if task.has_started or not task.key.isdigit() or inquiry.remaining_tasks is None:
        return None
    whole = (row for row in rows if not row.ref.key and row.pending_indices is None)
    return next((row for row in whole if row.state is inquiry.remaining_tasks), None)


def _speaks_of(row: AccountingRow, task: Task) -> bool:
    if row.pending_indices is not None:
        # the row of the tasks that never started: it speaks of those that nobody ever saw start
        never_started = not task.key or (task.key.isdigit() and int(task.key) in row.pending_indices)
        return not row.state.is_alive and never_started
    if task.submit_s is not None and row.submit_s is not None and row.submit_s < task.submit_s - 1:
        return False
    return row.ref.key == task.key


def _members_from(job: WatchedJob, rows: Sequence[AccountingRow], policy: Policy, now_s: float) -> WatchedJob:
    """Learn the parts of a job that left the queue before it was watched, or between two looks."""
    if job.watched_part:
        return job
    waiting = {str(index) for index in IndexSet.parse(job.pending_indices)}
    fresh = sorted(_keys(rows) - set(job.tasks) - waiting)
    if not fresh:
        return job
    tasks = {key: task for key, task in job.tasks.items() if key or task.was_seen}
    known = job.tasks[""].inquiry if "" not in tasks and "" in job.tasks else None
    tasks |= {key: Task(key, inquiry=known or open_inquiry(now_s, policy)) for key in fresh}
    indices = {*IndexSet.parse(job.array_indices), *(int(key) for key in fresh if key.isdigit())}
    return replace(job, tasks=tasks, array_indices=compact(list(indices)))


def _keys(rows: Sequence[AccountingRow]) -> set[str]:
    """Return the parts that accounting names, without those that only wait."""
    keys = {row.ref.key for row in rows if row.pending_indices is None and row.ref.key}
    return keys | {
        str(index)
        for row in rows
        if row.pending_indices and not row.state.is_alive
        for index in row.pending_indices
    }
