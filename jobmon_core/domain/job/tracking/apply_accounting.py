"""Apply an answer of accounting (sacct) to a watched job.

Nothing here decides that a task ended; accounting's rows become evidence in the task's `EndInquiry`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from jobmon_core.domain.backends import uses_slurm
from jobmon_core.domain.job.tracking.model import AccountingStatus, EndInquiry, Task, WatchedJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.slurm.job_ids import IndexSet, compact, includes
from jobmon_core.domain.slurm.log_paths import BY_SLURM, LogPaths, templates_from_record
from jobmon_core.domain.slurm.rows import AccountingAnswer, Disabled, JobRow, Unreachable

_CLOCK_SKEW_S = 300.0  # between the clocks of the cluster and of this host; munge refuses more
_UNNAMED = "allocation"  # sacct's name of a job whose name it does not know
_NO_WORD = re.compile(r"\W")


def apply_accounting(job: WatchedJob, answer: AccountingAnswer, policy: Policy, now_s: float) -> WatchedJob:
    """Return the job after accounting's answer, which arrived at ``now_s`` (Unix seconds).

    Beside open inquiries, it fills in missing details of the job, and adds tasks that squeue never listed.
    """
    rows: list[JobRow] = []
    if not isinstance(answer, Disabled | Unreachable):
        rows = [row for row in answer if is_row_of(job, row, now_s)]
        job = _add_missing_tasks(_fill_details(job, rows), rows, policy, now_s)

    def update(task: Task, inquiry: EndInquiry) -> EndInquiry:
        attempts = inquiry.attempts + 1
        next_query_s = now_s + policy.accounting_wait_s(attempts)
        inquiry = replace(inquiry, attempts=attempts, next_query_s=next_query_s)
        match answer:
            case Disabled():
                return replace(inquiry, accounting=AccountingStatus.DISABLED)
            case Unreachable() if inquiry.accounting is AccountingStatus.FOUND:
                return inquiry
            case Unreachable(why):
                is_new = inquiry.accounting is not AccountingStatus.UNREACHABLE
                since_s = now_s if is_new else inquiry.unreachable_since_s
                inquiry = replace(inquiry, accounting_error=why, unreachable_since_s=since_s)
                return replace(inquiry, accounting=AccountingStatus.UNREACHABLE)
            case _:
                return _add_row(task, inquiry, rows)

    return job.update_inquiries(update)


def is_row_of(job: WatchedJob, row: JobRow, now_s: float) -> bool:
    """Whether a row is about this job; one of another job with its id, or a damaged one, proves nothing.

    The names of array tasks and of components may differ from that of the job.
    """
    if not uses_slurm(job.backend):
        return job.is_own_run(row.submit_s)
    known_s = (task.submit_s or 0 for task in job.tasks.values())  # this host's clock may have been set back
    is_dated = row.submit_s is not None and row.submit_s <= max(now_s + _CLOCK_SKEW_S, *known_s, 0)
    has_own_name = row.ref.key != "" or row.name == _UNNAMED or _agree(job.name, row.name)
    # a cluster that cannot resolve a user says nobody
    has_own_user = "nobody" in (job.user, row.user) or _agree(job.user, row.user)
    is_own = is_dated and has_own_name and has_own_user and _agree(job.workdir, row.workdir)
    return is_own and job.is_own_run(row.submit_s)


def _agree(known: str, told: str) -> bool:
    """Whether two texts may be the same, one of which may be missing, cut off or escaped."""
    left, right = (_NO_WORD.sub("", text).casefold() for text in (known, told))
    return left.startswith(right) or right.startswith(left)


def _fill_details(job: WatchedJob, rows: Sequence[JobRow]) -> WatchedJob:
    """Add the details that slurmctld no longer knew when jobmon asked."""
    if not rows:
        return job
    newest = rows[-1]
    return replace(
        job,
        name=job.name or newest.name,
        partition=job.partition or newest.partition,
        workdir=job.workdir or newest.workdir,
        cluster=job.cluster or newest.cluster,
        logs=job.logs if job.logs.source else _log_paths(rows),
    )


def _log_paths(rows: Sequence[JobRow]) -> LogPaths:
    """Return the log templates, which accounting lists since Slurm 24.05."""
    # of a het job only the first component runs the script
    row = next((row for row in reversed(rows) if row.stdout and not row.ref.component), None)
    if row is None:
        return LogPaths()
    templates = templates_from_record(
        row.stdout, row.stderr, row.workdir, is_array=row.ref.task is not None, job_id=row.raw_job_id
    )
    return replace(templates, source=BY_SLURM)


def _add_row(task: Task, inquiry: EndInquiry, rows: Sequence[JobRow]) -> EndInquiry:
    inquiry = replace(
        inquiry,
        accounting=AccountingStatus.NO_RECORD,
        array_listed=bool(rows),
        accounting_is_fresh=any((row.end_s or row.start_s or 0) >= inquiry.since_s for row in rows),
    )
    row = _newest_row(task, rows) or _remainder_row(task, inquiry, rows)
    if row is None:
        return inquiry
    status = AccountingStatus.NO_RECORD if row.state.is_alive else AccountingStatus.FOUND
    return replace(inquiry, row=row, accounting=status)


def _newest_row(task: Task, rows: Sequence[JobRow]) -> JobRow | None:
    """Return the row of the task's current run; an earlier run proves nothing about it."""
    matching = [row for row in rows if _is_row_of(task, row)]
    return matching[-1] if matching else None


def _is_row_of(task: Task, row: JobRow) -> bool:
    if row.pending_indices is not None:  # the row of an array's tasks that never started
        return not row.state.is_alive and (not task.key or includes(row.pending_indices, task.key))
    if task.submit_s is not None and row.submit_s is not None and row.submit_s < task.submit_s - 1:
        return False
    return row.ref.key == task.key


def _remainder_row(task: Task, inquiry: EndInquiry, rows: Sequence[JobRow]) -> JobRow | None:
    """Return the row of an array's cancelled pending tasks, which at first names no indices."""
    if task.has_started or not task.key.isdigit() or inquiry.remaining_state is None:
        return None
    array_rows = (row for row in rows if not row.ref.key and row.pending_indices is None)
    return next((row for row in array_rows if row.state is inquiry.remaining_state), None)


def _add_missing_tasks(job: WatchedJob, rows: Sequence[JobRow], policy: Policy, now_s: float) -> WatchedJob:
    """Add the tasks that left the queue before jobmon watched the job, or between two queue checks."""
    if job.watched_part:
        return job
    pending = IndexSet.parse(job.pending_indices)
    new_keys = sorted(key for key in _listed_keys(rows) - set(job.tasks) if not includes(pending, key))
    if not new_keys:
        return job
    # a task without a key that squeue never listed only stood for the job while its tasks were unknown
    tasks = {key: task for key, task in job.tasks.items() if key or task.history}
    placeholder = job.tasks.get("") if "" not in tasks else None
    inquiry = (placeholder and placeholder.inquiry) or EndInquiry.opened(now_s, policy, now_s)
    tasks |= {key: Task(key, inquiry=inquiry) for key in new_keys}
    indices = {*IndexSet.parse(job.array_indices), *(int(key) for key in new_keys if key.isdigit())}
    return replace(job, tasks=tasks, array_indices=compact(list(indices)))


def _listed_keys(rows: Sequence[JobRow]) -> set[str]:
    keys = {row.ref.key for row in rows if row.pending_indices is None and row.ref.key}
    return keys | {
        str(index)
        for row in rows
        if row.pending_indices and not row.state.is_alive
        for index in row.pending_indices
    }
