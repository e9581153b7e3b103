"""When an end is proved, and what it was: the one place where verdicts are made.

A verdict rests on what a witness said, never on silence. Where all witnesses stay silent the
outcome is unknown, and says why.
"""

from __future__ import annotations

from jobmon_core.domain.slurm.rows import Usage
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.domain.tracking.model import AccountingStatus, End, EndInquiry, Source, Task
from jobmon_core.domain.tracking.policy import Policy

_LEFT_TO_LATE_LOOKS = 1 / 2  # of the grace, at least: it is asked together with what else ends


def conclude(task: Task, policy: Policy, now_s: float) -> End | None:
    """Return how the part ended, or None while that is not proved."""
    inquiry = task.inquiry
    if inquiry is None:
        return None
    said = _said(inquiry) or _said_of_the_rest(inquiry, policy, now_s)
    if said is None:
        return _without_witness(task, inquiry, policy, now_s)
    state, word, witness = said
    if state.may_return and inquiry.last_queue_s - inquiry.since_s < policy.recheck_s:
        return None
    if not _is_complete(task, inquiry, policy, now_s):
        return None
    return _end(task, inquiry, state, word, witness)


def is_proved(inquiry: EndInquiry) -> bool:
    """Whether a witness named the end, so that only details are still waited for."""
    return _said(inquiry) is not None


def grace_deadline_s(inquiry: EndInquiry, policy: Policy) -> float:
    """Return until when a proved end waits for accounting's details (Unix seconds).

    The grace runs from the end itself, as slurmctld tells it: where the look at the queue came late, the
    message is not to come later still.
    """
    record, grace_s = inquiry.record, policy.accounting_grace_s
    ended_s = record.end_s if record is not None and not record.state.is_alive else None
    from_s = inquiry.since_s if ended_s is None else min(inquiry.since_s, ended_s)
    return max(from_s + grace_s, inquiry.since_s + grace_s * _LEFT_TO_LATE_LOOKS)


def requires_accounting(task: Task, inquiry: EndInquiry) -> bool:
    """Whether accounting must still be heard: it may know tasks that ended before their array was watched."""
    return task.key.isdigit() and inquiry.accounting not in (
        AccountingStatus.NO_RECORD,
        AccountingStatus.FOUND,
        AccountingStatus.DISABLED,
    )


def _said(inquiry: EndInquiry) -> tuple[JobState, str, Source] | None:
    """Return the end that the first witness tells, in the order in which they are trusted."""
    returned = inquiry.record is not None and inquiry.record.state.is_alive
    if inquiry.queue_state is not None:
        # slurmctld was asked for the record after the queue: where it lives again, the next look shows it
        return None if returned else (inquiry.queue_state, inquiry.queue_raw_state, Source.QUEUE)
    if inquiry.row is not None and not inquiry.row.state.is_alive:
        return inquiry.row.state, inquiry.row.raw_state, Source.ACCOUNTING
    if inquiry.record is not None and not inquiry.record.state.is_alive:
        return inquiry.record.state, inquiry.record.raw_state, Source.RECORD
    return None


def _said_of_the_rest(
    inquiry: EndInquiry, policy: Policy, now_s: float
) -> tuple[JobState, str, Source] | None:
    """Return the end of an array's waiting tasks, where nobody has a word on this very one.

    The weakest word: such a row does not say which tasks it stands for. One that ran unseen has a row
    of its own in accounting, which is given the time to answer.
    """
    answered = inquiry.accounting in (
        AccountingStatus.NO_RECORD,
        AccountingStatus.FOUND,
        AccountingStatus.DISABLED,
    )
    patience_s = policy.accounting_grace_s if answered else policy.deadline_s
    if inquiry.remaining_tasks is None or now_s - inquiry.since_s < patience_s:
        return None
    return inquiry.remaining_tasks, inquiry.remaining_raw_state, Source.QUEUE


def _is_complete(task: Task, inquiry: EndInquiry, policy: Policy, now_s: float) -> bool:
    """Whether everything that can still be learnt is there, or was waited for long enough."""
    record_settled = inquiry.record is not None or inquiry.record_gone
    ledger_settled = inquiry.accounting in (AccountingStatus.FOUND, AccountingStatus.DISABLED)
    if record_settled and ledger_settled:
        return True
    if requires_accounting(task, inquiry):
        return now_s >= inquiry.since_s + policy.deadline_s
    return now_s >= grace_deadline_s(inquiry, policy)


def _end(task: Task, inquiry: EndInquiry, state: JobState, word: str, witness: Source) -> End:
    record, row = inquiry.record, inquiry.row
    told = record if record is not None and not record.state.is_alive else None
    exit_code = told.exit_code if told else (row.exit_code if row else None)
    ran = told or row
    nodes = (ran.nodes if ran else "") or task.nodes
    started_s = (row.start_s if row else None) or (ran.start_s if ran else None) or task.start_s
    ended_s = (row.end_s if row else None) or (ran.end_s if ran else None)
    return End(
        state=state,
        raw_state=row.raw_state if row and row.state is state else word,
        outcome=_outcome(state, exit_code),
        source=witness,
        exit_code=exit_code,
        exit_code_exact=told is not None and told.exit_code is not None,
        signal=told.signal if told else (row.signal if row else None),
        derived_exit_code=row.derived_exit_code if row else None,
        cancelled_by=row.cancelled_by if row else None,
        # Slurm gives what never had a node the moment of its end as its start
        started_s=started_s if nodes or started_s != ended_s else None,
        ended_s=ended_s,
        limit_s=(ran.limit_s if ran else None) or task.limit_s,
        nodes=nodes,
        reason=(told.reason if told else "") or (row.reason if row else "") or task.reason,
        usage=row.usage if row else Usage(),
        why=""
        if row or inquiry.accounting is AccountingStatus.DISABLED
        else "accounting had nothing on this job yet",
    )


def _outcome(state: JobState, exit_code: int | None) -> Outcome:
    """Translate an end that a witness stated; only COMPLETED without a bad exit code is a success."""
    if state is JobState.COMPLETED:
        return Outcome.FAILURE if exit_code else Outcome.SUCCESS
    if state is JobState.CANCELLED:
        return Outcome.CANCELLED
    if state is JobState.REVOKED:
        return Outcome.UNKNOWN  # a sibling in another cluster of the federation runs on
    return Outcome.FAILURE


def _without_witness(task: Task, inquiry: EndInquiry, policy: Policy, now_s: float) -> End | None:
    waited_s = now_s - inquiry.since_s
    if inquiry.last_queue_s - inquiry.since_s < policy.recheck_s or not inquiry.record_gone:
        return None
    vanished_s = (
        min(policy.vanished_s, policy.deadline_s) if inquiry.accounting_is_fresh else policy.deadline_s
    )
    if not task.has_started and task.key.isdigit() and inquiry.siblings_found and waited_s >= vanished_s:
        return _never_started()
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
        source=Source.NOBODY,
        started_s=task.start_s,
        limit_s=task.limit_s,
        nodes=task.nodes,
        reason=task.reason,
        why=_silence(inquiry),
    )


def _never_started() -> End:
    """Slurm keeps no record of a single array task that is cancelled before it starts."""
    return End(
        state=JobState.CANCELLED,
        raw_state=JobState.CANCELLED,
        outcome=Outcome.CANCELLED,
        source=Source.ARRAY,
        why="the task left its array's waiting list unstarted, and Slurm keeps no record of such a task",
    )


def _silence(inquiry: EndInquiry) -> str:
    accounting = {
        AccountingStatus.DISABLED: "this cluster keeps no accounting",
        AccountingStatus.UNREACHABLE: "accounting (sacct) did not answer",
        AccountingStatus.NO_RECORD: "accounting (sacct) has no end for it"
        + (f" and still calls it {inquiry.row.raw_state}" if inquiry.row else ""),
    }.get(inquiry.accounting, "")
    return f"squeue no longer lists the job, scontrol does not know it, and {accounting}"
