"""Folding what the scheduler said into what is known: the queue and the record, each on its own.

Nothing here decides that a part ended; it only opens an inquiry where a part left the queue or shows
an end there, and fills the inquiry in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from jobmon_core.domain.slurm.job_ids import IndexSet, compact
from jobmon_core.domain.slurm.rows import NotListed, QueueRow, Record, RecordAnswer, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.domain.tracking.model import EndInquiry, StateChange, Task, WatchedJob
from jobmon_core.domain.tracking.policy import Policy

Change = Callable[[Task, EndInquiry], EndInquiry]
_SAME_SUBMISSION_S = 5  # within it the parts of one submission get their stamps
_HISTORY_LIMIT = 200  # moments kept a part: a job that is requeued for weeks must not grow for ever


def apply_queue(job: WatchedJob, rows: Sequence[QueueRow], asked_s: float, policy: Policy) -> WatchedJob:
    """Take in one queue reply that was asked for at ``asked_s``."""
    ours = [row for row in rows if _in_scope(job, row) and _is_present(job, row)]
    waiting = _waiting(job, [row for row in ours if row.state.is_alive])
    job = replace(
        mark_answered(job, asked_s),
        submitted_s=_first_submission(job, [row.submit_s for row in ours]),
        pending_indices=str(waiting),
        pending_reason=next((row.reason for row in ours if row.pending_indices), ""),
    )
    job = _learn_shape(job, ours)
    rest = _leftovers(job, ours)
    tasks = dict(job.tasks)
    if job.watched_part and waiting.spans:
        tasks.setdefault(job.watched_part, Task(job.watched_part))
    listed: set[str] = set()
    for row in ours:
        if row.pending_indices is None and row not in rest:
            listed.add(row.ref.key)
            tasks[row.ref.key] = _seen(tasks.get(row.ref.key, Task(row.ref.key)), row, asked_s, policy)
    for row in ours:
        if row.pending_indices is not None and row.state.is_alive:
            listed |= _seen_waiting(tasks, row, asked_s)
    for key in _unlisted(job, tasks, listed, waiting):
        tasks[key] = _missing(tasks.get(key, Task(key)), rest, asked_s, policy)
    return replace(job, tasks=tasks)


def _in_scope(job: WatchedJob, row: QueueRow) -> bool:
    if row.ref.job_id != job.job_id:
        return False
    if not job.watched_part or row.ref.key == job.watched_part:
        return True
    return (
        row.pending_indices is not None
        and job.watched_part.isdigit()
        and int(job.watched_part) in row.pending_indices
    )


def _is_present(job: WatchedJob, row: QueueRow) -> bool:
    """Whether a row is of the present run: not of an older job of this id, nor of a run before a requeue."""
    task = job.tasks.get(row.ref.key)
    if row.submit_s is None or not job.is_ours(row.submit_s):
        return row.submit_s is None
    return task is None or task.submit_s is None or row.submit_s >= task.submit_s or row.state.is_alive


def _waiting(job: WatchedJob, rows: Sequence[QueueRow]) -> IndexSet:
    """Return the watched array tasks that have not started."""
    if job.watched_part:
        return IndexSet.parse(job.watched_part if any(row.pending_indices for row in rows) else "")
    return IndexSet(tuple(span for row in rows if row.pending_indices for span in row.pending_indices.spans))


def mark_answered(job: WatchedJob, asked_s: float) -> WatchedJob:
    """Note that the scheduler answered, whatever it said."""
    return replace(job, answered_s=asked_s, stale_since_s=None, stale_why="")


def mark_unreachable(job: WatchedJob, why: str, now_s: float) -> WatchedJob:
    """Note that the scheduler does not answer: nothing changes but how old our knowledge is."""
    since_s = job.stale_since_s if job.stale_since_s is not None else now_s
    return replace(job, stale_since_s=since_s, stale_why=why)


def _learn_shape(job: WatchedJob, rows: Sequence[QueueRow]) -> WatchedJob:
    """Widen the known index set of an array by what this reply lists."""
    if job.watched_part:
        return job
    known = set(IndexSet.parse(job.array_indices))
    listed = {row.ref.task for row in rows if row.ref.task is not None}
    listed |= {index for row in rows if row.pending_indices for index in row.pending_indices}
    return job if listed <= known else replace(job, array_indices=compact(list(known | listed)))


def _leftovers(job: WatchedJob, rows: Sequence[QueueRow]) -> list[QueueRow]:
    """Return what squeue keeps of an array whose waiting tasks were cancelled, by their indices or not."""
    return [
        row
        for row in rows
        if not row.ref.key and (job.array_indices if row.pending_indices is None else not row.state.is_alive)
    ]


def _unlisted(job: WatchedJob, tasks: dict[str, Task], listed: set[str], waiting: IndexSet) -> list[str]:
    """Return the parts that should be somewhere, and that this reply does not list."""
    expected = {str(index) for index in IndexSet.parse(job.array_indices) if index not in waiting}
    known = expected | {key for key in tasks if not (key.isdigit() and int(key) in waiting)}
    if not known and not listed and not waiting.spans:
        known = {job.watched_part}
    return sorted(known - listed)


def _seen_waiting(tasks: dict[str, Task], row: QueueRow, asked_s: float) -> set[str]:
    """Update the parts known by themselves that one row says are waiting (again); return them."""
    found = {
        key
        for key in tasks
        if key.isdigit() and row.pending_indices is not None and int(key) in row.pending_indices
    }
    for key in found:
        tasks[key] = _alive(tasks[key], row, asked_s)
    return found


def _seen(task: Task, row: QueueRow, asked_s: float, policy: Policy) -> Task:
    if row.state.is_alive:
        return _alive(task, row, asked_s)
    if task.end is not None:
        return task
    seen = _remember(task, row.state, row.raw_state, row.reason, asked_s)
    inquiry = seen.inquiry or open_inquiry(asked_s, policy)
    return replace(
        seen,
        raw_job_id=row.raw_job_id or seen.raw_job_id,
        submit_s=_later(row.submit_s, seen.submit_s),
        start_s=row.start_s or seen.start_s,
        limit_s=row.limit_s or seen.limit_s,
        nodes=row.nodes or seen.nodes,
        inquiry=replace(inquiry, queue_state=row.state, queue_raw_state=row.raw_state, last_queue_s=asked_s),
    )


def _alive(task: Task, row: QueueRow, asked_s: float) -> Task:
    """Note that the part lives; an end that was being looked into is undone by it."""
    again = task.submit_s is not None and row.submit_s is not None and row.submit_s > task.submit_s
    seen = _remember(task, row.state, row.raw_state, row.reason, asked_s, again=again)
    return replace(
        seen,
        raw_job_id=row.raw_job_id or seen.raw_job_id,
        submit_s=_later(row.submit_s, seen.submit_s),
        start_s=row.start_s if row.pending_indices is None else None,
        limit_s=row.limit_s or seen.limit_s,
        nodes=row.nodes,
        restarts=seen.restarts + 1 if again else seen.restarts,
        inquiry=None,
        end=None,
        diagnosis=None,
    )


def _later(one_s: int | None, other_s: int | None) -> int | None:
    return max((moment_s for moment_s in (one_s, other_s) if moment_s is not None), default=None)


def _remember(
    task: Task, state: JobState, word: str, reason: str, at_s: float, *, again: bool = False
) -> Task:
    """Keep state and reason; a change of either, or the same in another run (``again``), becomes history."""
    if task.history and not again and (task.history[-1].state, task.history[-1].reason) == (word, reason):
        return task
    history = (*task.history, StateChange(word, at_s, reason))[-_HISTORY_LIMIT:]
    return replace(task, state=state, raw_state=word, reason=reason, history=history)


def _missing(task: Task, rest: Sequence[QueueRow], asked_s: float, policy: Policy) -> Task:
    """Look into a part that the reply does not list; what the rest of its array met, it met too."""
    if task.end is not None:
        return task
    inquiry = replace(task.inquiry or open_inquiry(asked_s, policy), last_queue_s=asked_s)
    for row in rest:
        if not row.state.is_alive and _stands_for(row.pending_indices, task):
            inquiry = replace(inquiry, remaining_tasks=row.state, remaining_raw_state=row.raw_state)
    return replace(task, inquiry=inquiry)


def _stands_for(indices: IndexSet | None, task: Task) -> bool:
    """Whether what is said of many tasks is said of this one: by its index, or as it never started."""
    if indices is None:
        return not task.has_started
    return task.key.isdigit() and int(task.key) in indices


def open_inquiry(asked_s: float, policy: Policy) -> EndInquiry:
    """Begin to look for witnesses of an end."""
    return EndInquiry(asked_s, asked_s, next_query_s=asked_s + policy.accounting_wait_s(0))


def apply_record(job: WatchedJob, answer: RecordAnswer, now_s: float) -> WatchedJob:
    """Take in what slurmctld remembers of the job: its name, its logs, true exit codes."""
    job = replace(job, record_asked_s=now_s)
    match answer:
        case Unreachable():
            return job
        case NotListed():
            return each_inquiry(job, lambda _, inquiry: _forgotten(inquiry))
        case told:
            job = _drop_reused_id(job, told)
            records = [record for record in told if job.is_ours(record.submit_s)]
            return each_inquiry(
                _counted(_described(job, records), records),
                lambda task, inquiry: _recorded(task, inquiry, records),
            )


def _forgotten(inquiry: EndInquiry) -> EndInquiry:
    """Note that slurmctld knows the job no more.

    Where its record said before that the job lives again, the end that the queue showed was that of an
    earlier run, and how the last one ended only accounting can tell.
    """
    inquiry = replace(inquiry, record_gone=True)
    if inquiry.record is None or not inquiry.record.state.is_alive:
        return inquiry
    return replace(inquiry, record=None, queue_state=None, queue_raw_state="")


def _first_submission(job: WatchedJob, submitted_s: Sequence[int | None]) -> int | None:
    if job.submitted_s is not None:
        return job.submitted_s
    return min((moment_s for moment_s in submitted_s if moment_s is not None), default=None)


def _drop_reused_id(job: WatchedJob, records: Sequence[Record]) -> WatchedJob:
    """Forget what was learnt from a later job of the same id, to which a slurmctld without its state gave it.

    A requeue is a later submission too, but Slurm counts those; who was submitted later and never
    restarted is somebody else.
    """
    if job.submitted_s is None:
        return replace(job, submitted_s=_first_submission(job, [record.submit_s for record in records]))
    latest_s = job.submitted_s + _SAME_SUBMISSION_S
    others = [
        record.submit_s
        for record in records
        if record.restarts == 0 and record.submit_s is not None and record.submit_s > latest_s
    ]
    if not others:
        return job
    until_s = min(others) - 1
    tasks = {
        key: replace(
            task,
            state=JobState.UNKNOWN,
            raw_state=JobState.UNKNOWN,
            submit_s=job.submitted_s,
            inquiry=None,
            end=None,
            diagnosis=None,
        )
        if task.submit_s is not None and task.submit_s > until_s
        else task
        for key, task in job.tasks.items()
    }
    return replace(job, not_after_s=until_s, tasks=tasks)


def _described(job: WatchedJob, records: Sequence[Record]) -> WatchedJob:
    mine = [
        record for record in records if not job.watched_part or record.ref.key == job.watched_part
    ] or list(records)
    if not mine:
        return job
    first = mine[0]
    ran = next((record.batch_host for record in mine if record.batch_host), "")
    return replace(
        job,
        name=first.name or job.name,
        user=job.user or first.user,
        partition=first.partition or job.partition,
        workdir=first.workdir or job.workdir,
        command=first.command or job.command,
        batch_host=ran or job.batch_host,
    )


def _counted(job: WatchedJob, records: Sequence[Record]) -> WatchedJob:
    """Take Slurm's own count of restarts: our own, by the moments of submission, is but a guess in between.

    Slurm counts as soon as it is asked to requeue, and stamps the submission when the old run is cleaned up:
    a record from in between would have the same restart counted twice.
    """
    told = {record.ref.key: record for record in records if record.pending_indices is None}
    tasks = {
        key: replace(
            task,
            restarts=task.restarts if (count := told[key].restarts) is None else count,
            submit_s=_later(told[key].submit_s, task.submit_s),
        )
        for key, task in job.tasks.items()
        if key in told
    }
    return replace(job, tasks={**job.tasks, **tasks})


def _recorded(task: Task, inquiry: EndInquiry, records: Sequence[Record]) -> EndInquiry:
    mine = [
        record
        for record in records
        if (
            record.ref.key == task.key
            if record.pending_indices is None
            else _stands_for(record.pending_indices, task)
        )
    ]
    return replace(inquiry, record=mine[-1]) if mine else replace(inquiry, record_gone=True)


def each_inquiry(job: WatchedJob, change: Change) -> WatchedJob:
    """Change what is known of every end that is being looked into."""
    tasks = {
        key: replace(task, inquiry=change(task, task.inquiry)) if task.inquiry and not task.end else task
        for key, task in job.tasks.items()
    }
    return replace(job, tasks=tasks)
