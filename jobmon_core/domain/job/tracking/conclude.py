"""Decide when the end of a task is proved, and what its outcome is. No other module does this.

An end needs positive evidence: that squeue no longer lists a job proves nothing. If no source has evidence
by the deadline, the outcome is unknown, never success, and ``End.why`` says why.
"""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.job.tracking.model import AccountingStatus, End, EndInquiry, Source, Task
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import JobRow, Usage
from jobmon_core.domain.slurm.states import JobState, Outcome, outcome_of

# the final state, its text as Slurm writes it, the source that reports it
_Evidence = tuple[JobState, str, Source]
# Slurm itself ended a job in one of these states. In place of an exit status it then stores a wait status of
# 1, which scontrol prints as signal 1 and sacct as exit code 1.
_WITHOUT_EXIT_CODE = frozenset({JobState.NODE_FAIL, JobState.BOOT_FAIL, JobState.DEADLINE})
_PLACEHOLDERS = ((0, 1), (1, None))
_NO_ROW = JobRow(JobRef(0), JobState.UNKNOWN, "")
_MIN_GRACE_SHARE = 1 / 2  # of the grace, even if jobmon notices the end late


def conclude(task: Task, policy: Policy, now_s: float) -> End | None:
    """Return how the task ended; None while the end is not proved or its details may still arrive.

    Without proof, the outcome is unknown after a deadline, or cancelled if the rest of the array implies it.
    """
    inquiry = task.inquiry
    if inquiry is None:
        return None
    evidence = _direct_evidence(inquiry) or _remainder_evidence(inquiry, policy, now_s)
    if evidence is None:
        return _conclude_without_evidence(task, inquiry, policy, now_s)
    if evidence[0].may_return and not _has_lasted(inquiry, policy):
        return None
    return _end(task, inquiry, evidence) if _is_complete(task, inquiry, policy, now_s) else None


def is_proved(inquiry: EndInquiry) -> bool:
    """Whether a source reports the end, so that only accounting's details may be missing."""
    return _direct_evidence(inquiry) is not None


def grace_deadline_s(inquiry: EndInquiry, policy: Policy) -> float:
    """Return until when a proved end waits for accounting's details (Unix seconds).

    The grace starts at the end itself, as slurmctld reports it: if jobmon noticed the end late, the grace
    must not delay the message further. At least half of it remains in any case.
    """
    record, grace_s = inquiry.record, policy.accounting_grace_s
    ended_s = record.end_s if record is not None and not record.state.is_alive else None
    start_s = inquiry.since_s if ended_s is None else min(inquiry.since_s, ended_s)
    opened_s = inquiry.since_s if inquiry.opened_s is None else inquiry.opened_s
    return max(start_s + grace_s, opened_s + grace_s * _MIN_GRACE_SHARE)


def requires_accounting(task: Task, inquiry: EndInquiry) -> bool:
    """Whether the task must wait for accounting, which may know siblings that squeue never listed."""
    return task.key.isdigit() and not inquiry.accounting.is_answer


def _direct_evidence(inquiry: EndInquiry) -> _Evidence | None:
    """Return the end that the most trusted source reports: squeue, then accounting, then the record."""
    row, record = inquiry.row, _ended_record(inquiry)
    if inquiry.queue_state is not None:
        # the record is newer than the squeue reply: if it shows the job alive, Slurm requeued it
        if inquiry.record is not None and record is None:
            return None
        return inquiry.queue_state, inquiry.queue_raw_state, Source.QUEUE
    if row is not None and not row.state.is_alive:
        return row.state, row.raw_state, Source.ACCOUNTING
    if record is not None:
        return record.state, record.raw_state, Source.RECORD
    return None


def _remainder_evidence(inquiry: EndInquiry, policy: Policy, now_s: float) -> _Evidence | None:
    """Return the end of the array's pending tasks, if no source reports an end of this very task.

    This is the weakest evidence, because squeue may not say which tasks it means. If this one started
    unseen, accounting has a row for it, so accounting gets time to answer first.
    """
    wait_s = policy.accounting_grace_s if inquiry.accounting.is_answer else policy.deadline_s
    if inquiry.remaining_state is None or now_s - inquiry.since_s < wait_s:
        return None
    return inquiry.remaining_state, inquiry.remaining_raw_state, Source.QUEUE


def _has_lasted(inquiry: EndInquiry, policy: Policy) -> bool:
    """Whether queue checks have shown it ended or gone for one poll interval: Slurm may requeue it."""
    return inquiry.last_queue_s - inquiry.since_s >= policy.running_s


def _is_complete(task: Task, inquiry: EndInquiry, policy: Policy, now_s: float) -> bool:
    """Whether all details have arrived, or the time to wait for them is over."""
    has_record_answer = inquiry.record is not None or inquiry.record_gone
    if has_record_answer and inquiry.accounting in (AccountingStatus.FOUND, AccountingStatus.DISABLED):
        return True
    if requires_accounting(task, inquiry):
        return now_s >= inquiry.since_s + policy.deadline_s
    return now_s >= grace_deadline_s(inquiry, policy)


def _end(task: Task, inquiry: EndInquiry, evidence: _Evidence) -> End:
    state, raw_state, source = evidence
    row = inquiry.row or _NO_ROW
    record = _ended_record(inquiry)
    run = record or row  # slurmctld's record is exact where sacct's exit code is not
    exit_code, signal = _exit_status(state, run)
    nodes = run.nodes or task.nodes
    ended_s = row.end_s or run.end_s
    started_s = row.start_s or run.start_s or task.start_s
    if not nodes and started_s == ended_s:
        started_s = None  # for a job that never got a node, Slurm reports the time of its end as its start
    end = End(
        state=state,
        raw_state=_raw_state(inquiry.row, state) or raw_state,
        outcome=outcome_of(state, exit_code),
        source=source,
        exit_code=exit_code,
        exit_code_exact=row.exit_code_exact,
        signal=signal,
        derived_exit_code=row.derived_exit_code,
        cancelled_by=row.cancelled_by,
        has_script=run.has_script,
        started_s=started_s,
        ended_s=ended_s,
        limit_s=run.limit_s or task.limit_s,
        nodes=nodes,
        reason=row.reason or task.reason,
        usage=_usage(inquiry),
        eligible_s=row.eligible_s,
        why=_missing_details(state, inquiry, started_s),
    )
    if record is None:
        return end
    return replace(
        end,
        exit_code_exact=record.exit_code is not None,
        dependency=record.dependency,
        reason=record.reason or end.reason,
        eligible_s=row.eligible_s or record.eligible_s,
    )


def _usage(inquiry: EndInquiry) -> Usage:
    """Return what the run used, without times that accounting had not seen end: those go on counting.

    Without accounting, a record that shows the usage counts, as that of PBS.
    """
    row = inquiry.row or _ended_record(inquiry) or _NO_ROW
    if not row.state.is_alive:
        return row.usage
    return replace(row.usage, run_s=None, cpu_s=None, step_cpu_s=None)


def _exit_status(state: JobState, run: JobRow) -> tuple[int | None, int | None]:
    status = (run.exit_code, run.signal)
    return (None, None) if state in _WITHOUT_EXIT_CODE and status in _PLACEHOLDERS else status


def _raw_state(row: JobRow | None, state: JobState) -> str:
    """Return accounting's words for the state, which say more than squeue's; empty if it has another."""
    return row.raw_state if row and row.state is state else ""


def _ended_record(inquiry: EndInquiry) -> JobRow | None:
    record = inquiry.record
    return None if record is None or record.state.is_alive else record


def _missing_details(state: JobState, inquiry: EndInquiry, started_s: int | None) -> str:
    """Name the details of an end that are not known without accounting."""
    if inquiry.row is not None or inquiry.accounting is AccountingStatus.DISABLED:
        return ""
    missing = []
    record = _ended_record(inquiry)
    if record is None:
        missing += ["exit code", "exact end"]
    if record is None or started_s is not None:
        missing += ["peak memory", "CPU time"]
    if state is JobState.CANCELLED:
        missing.append("who cancelled it")
    if not missing:
        return ""
    named = ", ".join(missing)
    return f"accounting (sacct) gave no record of this job in time, so these stay unknown: {named}"


def _conclude_without_evidence(task: Task, inquiry: EndInquiry, policy: Policy, now_s: float) -> End | None:
    """Return an inferred cancellation or an unknown outcome, each after its deadline; None before."""
    waited_s = now_s - inquiry.since_s
    if not _has_lasted(inquiry, policy) or not inquiry.record_gone:
        return None
    vanished_s = policy.deadline_s
    if inquiry.accounting_is_fresh:
        vanished_s = min(policy.vanished_s, policy.deadline_s)
    if not task.has_started and task.key.isdigit() and inquiry.array_listed and waited_s >= vanished_s:
        return End(
            state=JobState.CANCELLED,
            raw_state=JobState.CANCELLED,
            outcome=Outcome.CANCELLED,
            source=Source.ARRAY,
            why="the task was removed from its array before it started; Slurm keeps no record of such a task",
        )
    deadline_s = {
        AccountingStatus.DISABLED: 0.0,
        AccountingStatus.UNREACHABLE: policy.unreachable_deadline_s,
    }.get(inquiry.accounting, policy.deadline_s)
    if inquiry.accounting is AccountingStatus.NOT_ASKED or waited_s < deadline_s:
        return None
    return End(
        state=JobState.UNKNOWN,
        raw_state=JobState.UNKNOWN,
        outcome=Outcome.UNKNOWN,
        source=Source.NONE,
        started_s=task.start_s,
        limit_s=task.limit_s,
        nodes=task.nodes,
        reason=task.reason,
        why=_missing_evidence(inquiry),
    )


def _missing_evidence(inquiry: EndInquiry) -> str:
    row = inquiry.row
    no_end = f"still shows it as {row.raw_state}" if row else "has no record of its end"
    accounting = {
        AccountingStatus.DISABLED: "this cluster keeps no accounting",
        AccountingStatus.UNREACHABLE: "accounting (sacct) did not respond",
        AccountingStatus.NO_RECORD: f"accounting (sacct) {no_end}",
    }.get(inquiry.accounting, "")
    return f"the job left the queue, scontrol does not know it, and {accounting}"
