"""Folding what the scheduler said into what is known: queue, record and accounting, each on its own.

Nothing here decides that a part ended; it only opens an inquiry where a part left the queue or shows
an end there, and fills the inquiry in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from jobmon_core.domain.answers import Disabled, NotListed, Unreachable
from jobmon_core.domain.job import Inquiry, Ledger, Moment, Task, WatchedJob
from jobmon_core.domain.jobref import IndexSet, compact
from jobmon_core.domain.observation import AccountingRow, QueueRow, Record, RecordAnswer
from jobmon_core.domain.policy import Policy
from jobmon_core.domain.states import JobState

_Change = Callable[[Task, Inquiry], Inquiry]
_HISTORY_LIMIT = 200  # moments kept a part: a job that is requeued for weeks must not grow for ever


def fold_queue(job: WatchedJob, rows: Sequence[QueueRow], asked_s: float, policy: Policy) -> WatchedJob:
    """Take in one queue reply that was asked for at ``asked_s``."""
    ours = [row for row in rows if _in_scope(job, row)]
    waiting = _waiting(job, [row for row in ours if row.state.is_alive])
    job = replace(
        job,
        answered_s=asked_s,
        stale_since_s=None,
        stale_why="",
        waiting=str(waiting),
        waiting_reason=next((row.reason for row in ours if row.waiting), ""),
    )
    job = _learn_shape(job, ours)
    rest = _leftovers(job, ours)
    tasks = dict(job.tasks)
    if job.scope and waiting.spans:
        tasks.setdefault(job.scope, Task(job.scope))
    listed: set[str] = set()
    for row in ours:
        if row.waiting is None and row not in rest:
            listed.add(row.ref.key)
            tasks[row.ref.key] = _seen(tasks.get(row.ref.key, Task(row.ref.key)), row, asked_s, policy)
    for row in ours:
        if row.waiting is not None and row.state.is_alive:
            listed |= _seen_waiting(tasks, row, asked_s)
    for key in _unlisted(job, tasks, listed, waiting):
        tasks[key] = _missing(tasks.get(key, Task(key)), rest, asked_s, policy)
    return replace(job, tasks=tasks)


def _in_scope(job: WatchedJob, row: QueueRow) -> bool:
    if row.ref.job_id != job.job_id:
        return False
    if not job.scope or row.ref.key == job.scope:
        return True
    return row.waiting is not None and job.scope.isdigit() and int(job.scope) in row.waiting


def _waiting(job: WatchedJob, rows: Sequence[QueueRow]) -> IndexSet:
    """Return the watched array tasks that have not started."""
    if job.scope:
        return IndexSet.parse(job.scope if any(row.waiting for row in rows) else "")
    return IndexSet(tuple(span for row in rows if row.waiting for span in row.waiting.spans))


def unreachable(job: WatchedJob, why: str, now_s: float) -> WatchedJob:
    """Note that the scheduler does not answer: nothing changes but how old our knowledge is."""
    since_s = job.stale_since_s if job.stale_since_s is not None else now_s
    return replace(job, stale_since_s=since_s, stale_why=why)


def _learn_shape(job: WatchedJob, rows: Sequence[QueueRow]) -> WatchedJob:
    """Widen the known index set of an array by what this reply lists."""
    if job.scope:
        return job
    known = set(IndexSet.parse(job.expected))
    listed = {row.ref.task for row in rows if row.ref.task is not None}
    listed |= {index for row in rows if row.waiting for index in row.waiting}
    return job if listed <= known else replace(job, expected=compact(list(known | listed)))


def _leftovers(job: WatchedJob, rows: Sequence[QueueRow]) -> list[QueueRow]:
    """Return what squeue keeps of an array whose waiting tasks were cancelled, by their indices or not."""
    return [
        row
        for row in rows
        if not row.ref.key and (job.expected if row.waiting is None else not row.state.is_alive)
    ]


def _unlisted(job: WatchedJob, tasks: dict[str, Task], listed: set[str], waiting: IndexSet) -> list[str]:
    """Return the parts that should be somewhere, and that this reply does not list."""
    expected = {str(index) for index in IndexSet.parse(job.expected) if index not in waiting}
    known = expected | {key for key in tasks if not (key.isdigit() and int(key) in waiting)}
    if not known and not listed and not waiting.spans:
        known = {job.scope}
    return sorted(known - listed)


def _seen_waiting(tasks: dict[str, Task], row: QueueRow, asked_s: float) -> set[str]:
    """Update the parts known by themselves that one row says are waiting (again); return them."""
    found = {key for key in tasks if key.isdigit() and row.waiting is not None and int(key) in row.waiting}
    for key in found:
        tasks[key] = _alive(tasks[key], row, asked_s)
    return found


def _seen(task: Task, row: QueueRow, asked_s: float, policy: Policy) -> Task:
    if row.state.is_alive:
        return _alive(task, row, asked_s)
    if task.end is not None:
        return task
    seen = _remember(task, row.state, row.word, row.reason, asked_s)
    inquiry = seen.inquiry or _inquiry(asked_s, policy)
    return replace(
        seen,
        own_id=row.own_id or seen.own_id,
        submit_s=_later(row.submit_s, seen.submit_s),
        start_s=row.start_s or seen.start_s,
        limit_s=row.limit_s or seen.limit_s,
        nodes=row.nodes or seen.nodes,
        inquiry=replace(inquiry, shown=row.state, shown_word=row.word, last_queue_s=asked_s),
    )


def _alive(task: Task, row: QueueRow, asked_s: float) -> Task:
    """Note that the part lives; an end that was being looked into is undone by it."""
    again = task.submit_s is not None and row.submit_s is not None and row.submit_s > task.submit_s
    seen = _remember(task, row.state, row.word, row.reason, asked_s)
    return replace(
        seen,
        own_id=row.own_id or seen.own_id,
        submit_s=_later(row.submit_s, seen.submit_s),
        start_s=row.start_s if row.waiting is None else None,
        limit_s=row.limit_s or seen.limit_s,
        nodes=row.nodes,
        restarts=seen.restarts + 1 if again else seen.restarts,
        inquiry=None,
        end=None,
        diagnosis=None,
    )


def _later(one_s: int | None, other_s: int | None) -> int | None:
    return max((moment_s for moment_s in (one_s, other_s) if moment_s is not None), default=None)


def _remember(task: Task, state: JobState, word: str, reason: str, at_s: float) -> Task:
    """Keep state and reason; a change of state, or of the reason to wait, becomes history."""
    if task.history and (task.history[-1].state, task.history[-1].reason) == (word, reason):
        return task
    history = (*task.history, Moment(word, at_s, reason))[-_HISTORY_LIMIT:]
    return replace(task, state=state, word=word, reason=reason, history=history)


def _missing(task: Task, rest: Sequence[QueueRow], asked_s: float, policy: Policy) -> Task:
    """Look into a part that the reply does not list; what the rest of its array met, it met too."""
    if task.end is not None:
        return task
    inquiry = replace(task.inquiry or _inquiry(asked_s, policy), last_queue_s=asked_s)
    for row in rest:
        if not row.state.is_alive and _stands_for(row.waiting, task):
            inquiry = replace(inquiry, shown=row.state, shown_word=row.word)
    return replace(task, inquiry=inquiry)


def _stands_for(indices: IndexSet | None, task: Task) -> bool:
    """Whether what is said of many tasks is said of this one: by its index, or as it never started."""
    if indices is None:
        return not task.was_seen
    return task.key.isdigit() and int(task.key) in indices


def _inquiry(asked_s: float, policy: Policy) -> Inquiry:
    return Inquiry(asked_s, asked_s, next_ask_s=asked_s + policy.accounting_wait_s(0))


def fold_record(job: WatchedJob, answer: RecordAnswer, now_s: float) -> WatchedJob:
    """Take in what slurmctld remembers of the job: its name, its logs, true exit codes."""
    job = replace(job, record_asked_s=now_s)
    match answer:
        case Unreachable():
            return job
        case NotListed():
            return _each_inquiry(job, lambda _, inquiry: replace(inquiry, record_gone=True))
        case records:
            return _each_inquiry(
                _counted(_described(job, records), records),
                lambda task, inquiry: _recorded(task, inquiry, records),
            )


def _described(job: WatchedJob, records: Sequence[Record]) -> WatchedJob:
    mine = [record for record in records if not job.scope or record.ref.key == job.scope] or list(records)
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
    """Learn of restarts that happened between two looks, or before the first.

    The moment of the submission goes with the count, so that the queue's next reply adds nothing to it.
    """
    told = {record.ref.key: record for record in records if record.waiting is None}
    tasks = {
        key: replace(
            task,
            restarts=max(task.restarts, told[key].restarts or 0),
            submit_s=_later(told[key].submit_s, task.submit_s),
        )
        for key, task in job.tasks.items()
        if key in told
    }
    return replace(job, tasks={**job.tasks, **tasks})


def _recorded(task: Task, inquiry: Inquiry, records: Sequence[Record]) -> Inquiry:
    mine = [
        record
        for record in records
        if (record.ref.key == task.key if record.waiting is None else _stands_for(record.waiting, task))
    ]
    return replace(inquiry, record=mine[-1]) if mine else replace(inquiry, record_gone=True)


def fold_accounting(
    job: WatchedJob, answer: tuple[AccountingRow, ...] | Disabled | Unreachable, policy: Policy, now_s: float
) -> WatchedJob:
    """Take in what accounting answered about this job, for every part under inquiry."""
    match answer:
        case Disabled():
            return _each_inquiry(job, lambda _, inquiry: replace(inquiry, ledger=Ledger.DISABLED))
        case Unreachable():
            return _each_inquiry(job, lambda _, inquiry: _unanswered(inquiry, policy, now_s))
        case rows:
            job = _members_from(_named_by(job, rows), rows, policy, now_s)
            return _each_inquiry(job, lambda task, inquiry: _told(task, inquiry, rows, policy, now_s))


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


def _each_inquiry(job: WatchedJob, change: _Change) -> WatchedJob:
    tasks = {
        key: replace(task, inquiry=change(task, task.inquiry)) if task.inquiry and not task.end else task
        for key, task in job.tasks.items()
    }
    return replace(job, tasks=tasks)


def _unanswered(inquiry: Inquiry, policy: Policy, now_s: float) -> Inquiry:
    later = _asked(inquiry, policy, now_s)
    return later if inquiry.ledger is Ledger.TOLD else replace(later, ledger=Ledger.UNREACHABLE)


def _asked(inquiry: Inquiry, policy: Policy, now_s: float) -> Inquiry:
    asked = inquiry.asked + 1
    return replace(inquiry, asked=asked, next_ask_s=now_s + policy.accounting_wait_s(asked))


def _told(
    task: Task, inquiry: Inquiry, rows: Sequence[AccountingRow], policy: Policy, now_s: float
) -> Inquiry:
    row = _newest_row(task, rows) or _row_of_the_rest(task, inquiry, rows)
    asked = replace(_asked(inquiry, policy, now_s), siblings_told=bool(rows))
    if row is None:
        return replace(asked, ledger=Ledger.SILENT)
    return replace(asked, row=row, ledger=Ledger.SILENT if row.state.is_alive else Ledger.TOLD)


def _newest_row(task: Task, rows: Sequence[AccountingRow]) -> AccountingRow | None:
    """Return the newest run of the part; an older run than the one watched proves nothing."""
    mine = [row for row in rows if _speaks_of(row, task)]
    return mine[-1] if mine else None


def _row_of_the_rest(task: Task, inquiry: Inquiry, rows: Sequence[AccountingRow]) -> AccountingRow | None:
    """Return the row of an array whose rest was cancelled, which for some seconds names no indices."""
    if task.was_seen or not task.key.isdigit() or inquiry.shown is None:
        return None
    whole = (row for row in rows if not row.ref.key and row.waiting is None)
    return next((row for row in whole if row.state is inquiry.shown), None)


def _speaks_of(row: AccountingRow, task: Task) -> bool:
    if row.waiting is not None:
        # the row of the tasks that never started: it speaks of those that nobody ever saw start
        never_started = not task.key or (task.key.isdigit() and int(task.key) in row.waiting)
        return not row.state.is_alive and never_started
    if task.submit_s is not None and row.submit_s is not None and row.submit_s < task.submit_s - 1:
        return False
    return row.ref.key == task.key


def _members_from(job: WatchedJob, rows: Sequence[AccountingRow], policy: Policy, now_s: float) -> WatchedJob:
    """Learn the parts of a job that left the queue before it was watched."""
    if job.scope:
        return job
    keys = {row.ref.key for row in rows if row.waiting is None}
    keys |= {str(index) for row in rows if row.waiting for index in row.waiting}
    return _split(job, keys, policy, now_s)


def _split(job: WatchedJob, keys: Iterable[str], policy: Policy, now_s: float) -> WatchedJob:
    """Replace the one unknown part by the parts that a witness names."""
    parts = {key for key in keys if key}
    if not parts or set(job.tasks) != {""} or job.tasks[""].was_seen:
        return job
    inquiry = job.tasks[""].inquiry or _inquiry(now_s, policy)
    tasks = {key: Task(key, inquiry=inquiry) for key in sorted(parts)}
    return replace(job, tasks=tasks, expected=compact([int(key) for key in parts if key.isdigit()]))
