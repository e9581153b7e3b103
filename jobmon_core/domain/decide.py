"""The one function that decides: a job and the time in, the job and what to do next out.

It is asked again after every action, until it wants nothing more now.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from jobmon_core.domain.delivery.outbox import Message, OutboxEntry, in_order
from jobmon_core.domain.messages.job_ended import final
from jobmon_core.domain.messages.job_stuck import stuck_alerts
from jobmon_core.domain.messages.scheduler_outage import is_over, warning_is_due
from jobmon_core.domain.slurm.rows import NO_HURRY_S
from jobmon_core.domain.slurm.states import Outcome, Phase
from jobmon_core.domain.tracking.conclude import conclude, grace_deadline_s, is_proved, requires_accounting
from jobmon_core.domain.tracking.model import EndInquiry, Task, WatchedJob
from jobmon_core.domain.tracking.policy import Policy


@dataclass(frozen=True, slots=True)
class QueryController:
    """Ask slurmctld for the job's record."""


@dataclass(frozen=True, slots=True)
class QueryAccounting:
    """Ask accounting for the job's runs."""


@dataclass(frozen=True, slots=True)
class Diagnose:
    """Read the logs of these parts and say why they ended as they did."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Deliver:
    """Send a message to a channel; route it first if ``channel`` is empty."""

    message_id: str
    channel: str = ""


@dataclass(frozen=True, slots=True)
class NotifyOutage:
    """Tell the user that the scheduler does not answer, unless another job has."""


@dataclass(frozen=True, slots=True)
class NotifyRecovered:
    """Tell the user that the scheduler answers again."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Nothing is left to do: end the monitor."""


Action = QueryController | QueryAccounting | Diagnose | NotifyOutage | NotifyRecovered | Deliver | Finish

# given to be answered: a database under load needs it, and the grace has room for it
_FIRST_QUESTION_S = 20.0
_QUESTION_S = 3.0  # likewise to a later one, and to the first where accounting was silent a moment ago
MAX_DIAGNOSED = 50  # failed tasks of one array whose logs are read: the digest groups by cause


def decide(job: WatchedJob, policy: Policy, now_s: float) -> tuple[WatchedJob, tuple[Action, ...]]:
    """Return what is known after judging, and what to do now; times in Unix seconds."""
    if job.unwatched_s is not None:
        return job, (Finish(),)
    if job.closed:
        return job, (*_outage(job, policy, now_s), *(_deliveries(job, now_s) or _finish(job)))
    job = _judged(job, policy, now_s)
    actions = _outage(job, policy, now_s)
    if _wants_record(job):
        actions.append(QueryController())
    else:
        job = _notice(job, now_s)  # by its name, which the record tells
    if _wants_accounting(job, now_s):
        actions.append(QueryAccounting())
    if job.ended:
        unexplained = _unexplained(job)
        if unexplained:
            actions.append(Diagnose(unexplained))
        else:
            job = _concluded(job, policy, now_s)
    actions.extend(_deliveries(job, now_s) or (_finish(job) if job.closed else ()))
    return job, tuple(actions)


def wake_s(job: WatchedJob, policy: Policy, looked_s: float, now_s: float) -> float:
    """Return when something is to be done next; ``looked_s`` is when the queue was looked at last."""
    retries = [entry.next_try_s for entry in _heads(job)]
    if job.closed and job.outage_s is None:
        return min(retries, default=looked_s)
    questions = [inquiry.next_query_s for _, inquiry in _inquiries(job)]
    waits = [until_s for until_s in _details_until_s(job, policy) if until_s > now_s]
    return min([looked_s + interval_s(job, policy), *questions, *waits, *retries])


def accounting_timeout_s(job: WatchedJob, policy: Policy, now_s: float, *, silent: bool) -> float:
    """Return how long accounting may take to answer: no longer than an end that is proved waits for it.

    While any part lives nothing can be told, so nothing waits; nor where the wait is over and accounting has
    to be heard all the same.

    Args:
        job: what is known.
        policy: how long is waited.
        now_s: when it is asked (Unix seconds).
        silent: whether it did not answer a moment ago, about whatever job.
    """
    if job.pending_indices or any(task.end is None and task.inquiry is None for task in job.tasks.values()):
        return NO_HURRY_S
    left_s = min(_details_until_s(job, policy), default=NO_HURRY_S) - now_s
    if left_s <= 0 and any(requires_accounting(task, inquiry) for task, inquiry in _inquiries(job)):
        return NO_HURRY_S
    is_first = any(inquiry.attempts == 0 for _, inquiry in _inquiries(job))
    return max(left_s, _FIRST_QUESTION_S if is_first and not silent else _QUESTION_S)


def _details_until_s(job: WatchedJob, policy: Policy) -> list[float]:
    """Return until when the ends that are proved wait for accounting."""
    return [grace_deadline_s(inquiry, policy) for _, inquiry in _inquiries(job) if is_proved(inquiry)]


def _inquiries(job: WatchedJob) -> Iterator[tuple[Task, EndInquiry]]:
    return ((task, task.inquiry) for task in job.tasks.values() if task.inquiry and not task.end)


def interval_s(job: WatchedJob, policy: Policy) -> float:
    """Return how old a queue reply may be for this job."""
    waits = all(task.state.phase is Phase.WAITING and not task.inquiry for task in job.tasks.values())
    return policy.pending_s if waits and (job.tasks or job.pending_indices) else policy.running_s


def _judged(job: WatchedJob, policy: Policy, now_s: float) -> WatchedJob:
    ends = {
        key: replace(task, end=end, state=end.state, raw_state=end.raw_state)
        for key, task in job.tasks.items()
        if task.end is None and (end := conclude(task, policy, now_s)) is not None
    }
    return replace(job, tasks={**job.tasks, **ends}) if ends else job


def _wants_record(job: WatchedJob) -> bool:
    """Whether slurmctld should be asked: at first sight, at a start, and while an end is looked into."""
    if job.answered_s is None or job.record_asked_s >= job.answered_s:
        return False
    if not job.workdir:
        return True
    return any(_wants_own_record(task, job) for task in job.tasks.values() if not task.end)


def _wants_own_record(task: Task, job: WatchedJob) -> bool:
    if task.inquiry is not None:
        record = task.inquiry.record
        return not task.inquiry.record_gone and (record is None or record.state.is_alive)
    # log paths may change until the start, and the node is known only then; a later run of the same id may
    # be another job's
    again = (task.submit_s or 0) > (job.submitted_s or 0)
    changed = bool(task.history) and job.record_asked_s < task.history[-1].at_s
    return changed and (again or task.state.phase is Phase.ACTIVE)


def _wants_accounting(job: WatchedJob, now_s: float) -> bool:
    return any(inquiry.next_query_s <= now_s for _, inquiry in _inquiries(job))


def _unexplained(job: WatchedJob) -> tuple[str, ...]:
    """Return the parts whose end asks for an explanation and has none yet."""
    failed = [task for task in job.tasks.values() if task.end and task.end.outcome is not Outcome.SUCCESS]
    failed.sort(key=lambda task: task.end is not None and task.end.outcome is not Outcome.FAILURE)
    return tuple(task.key for task in failed[:MAX_DIAGNOSED] if task.diagnosis is None)


def _notice(job: WatchedJob, now_s: float) -> WatchedJob:
    """Owe one message for each thing that keeps the job from ever starting."""
    for subject, message in stuck_alerts(job, now_s):
        if subject not in job.alerted:
            job = replace(job, alerted=(*job.alerted, subject), outbox=(*job.outbox, OutboxEntry(message)))
    return job


def _outage(job: WatchedJob, policy: Policy, now_s: float) -> list[Action]:
    """Return what is to be said about a scheduler that does not answer, or does again."""
    if warning_is_due(job, policy, now_s):
        return [NotifyOutage()]
    return [NotifyRecovered()] if is_over(job) else []


def _concluded(job: WatchedJob, policy: Policy, now_s: float) -> WatchedJob:
    messages = final(job, now_s, each=policy.array_messages == "each")
    return replace(job, concluded_s=now_s, outbox=job.outbox + tuple(_entries(messages)))


def _entries(messages: tuple[Message, ...]) -> Iterator[OutboxEntry]:
    return (OutboxEntry(message) for message in messages)


def _heads(job: WatchedJob) -> tuple[OutboxEntry, ...]:
    """Return the oldest open entry of each channel and the oldest unrouted one: none may overtake."""
    heads: dict[str, OutboxEntry] = {}
    for entry in in_order(job.outbox):
        heads.setdefault(entry.channel, entry)
    return tuple(heads.values())


def _deliveries(job: WatchedJob, now_s: float) -> tuple[Action, ...]:
    return tuple(Deliver(*entry.key) for entry in _heads(job) if entry.next_try_s <= now_s)


def _finish(job: WatchedJob) -> tuple[Action, ...]:
    return (Finish(),) if job.finished else ()
