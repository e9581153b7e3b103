"""The one function that decides: a job and the time in, the job and what to do next out.

It is asked again after every action, until it wants nothing more now.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from jobmon_core.domain.delivery.outbox import Message, Owed, in_order
from jobmon_core.domain.messages.job_ended import final
from jobmon_core.domain.messages.job_stuck import attention
from jobmon_core.domain.messages.scheduler_outage import is_over, warning_is_due
from jobmon_core.domain.slurm.rows import NO_HURRY_S
from jobmon_core.domain.slurm.states import Outcome, Phase
from jobmon_core.domain.tracking.conclude import details_until_s, is_proved, judge, must_hear
from jobmon_core.domain.tracking.model import Inquiry, Task, WatchedJob
from jobmon_core.domain.tracking.policy import Policy


@dataclass(frozen=True, slots=True)
class AskRecord:
    """Ask slurmctld for the job's record."""


@dataclass(frozen=True, slots=True)
class AskAccounting:
    """Ask accounting for the job's runs."""


@dataclass(frozen=True, slots=True)
class Explain:
    """Read the logs of these parts and say why they ended as they did."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Deliver:
    """Send this message."""

    message_id: str


@dataclass(frozen=True, slots=True)
class Warn:
    """Tell the user that the scheduler does not answer, unless another job has."""


@dataclass(frozen=True, slots=True)
class AllClear:
    """Tell the user that the scheduler answers again."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Nothing is left to do: end the monitor."""


Action = AskRecord | AskAccounting | Explain | Warn | AllClear | Deliver | Finish

# given to be answered: a database under load needs it, and the grace has room for it
_FIRST_QUESTION_S = 20.0
_QUESTION_S = 3.0  # likewise to a later one, and to the first where accounting was silent a moment ago
EXPLAINED_AT_MOST = 50  # failed tasks of one array whose logs are read: the digest groups by cause


def decide(job: WatchedJob, policy: Policy, now_s: float) -> tuple[WatchedJob, tuple[Action, ...]]:
    """Return what is known after judging, and what to do now; times in Unix seconds."""
    if job.dropped_s is not None:
        return job, (Finish(),)
    if job.closed:
        return job, (*_outage(job, policy, now_s), *(_deliveries(job, now_s) or _finish(job)))
    job = _judged(job, policy, now_s)
    actions = _outage(job, policy, now_s)
    if _wants_record(job):
        actions.append(AskRecord())
    else:
        job = _notice(job, now_s)  # by its name, which the record tells
    if _wants_accounting(job, now_s):
        actions.append(AskAccounting())
    if job.ended:
        unexplained = _unexplained(job)
        if unexplained:
            actions.append(Explain(unexplained))
        else:
            job = _concluded(job, policy, now_s)
    actions.extend(_deliveries(job, now_s) or (_finish(job) if job.closed else ()))
    return job, tuple(actions)


def wake_s(job: WatchedJob, policy: Policy, looked_s: float, now_s: float) -> float:
    """Return when something is to be done next; ``looked_s`` is when the queue was looked at last."""
    retries = [owed.next_try_s for owed in _heads(job)]
    if job.closed and job.outage_s is None:
        return min(retries, default=looked_s)
    questions = [inquiry.next_ask_s for _, inquiry in _inquiries(job)]
    waits = [until_s for until_s in _details_until_s(job, policy) if until_s > now_s]
    return min([looked_s + interval_s(job, policy), *questions, *waits, *retries])


def answer_within_s(job: WatchedJob, policy: Policy, now_s: float, *, silent: bool) -> float:
    """Return how long accounting may take to answer: no longer than an end that is proved waits for it.

    While any part lives nothing can be told, so nothing waits; nor where the wait is over and accounting has
    to be heard all the same.

    Args:
        job: what is known.
        policy: how long is waited.
        now_s: when it is asked (Unix seconds).
        silent: whether it did not answer a moment ago, about whatever job.
    """
    if job.waiting or any(task.end is None and task.inquiry is None for task in job.tasks.values()):
        return NO_HURRY_S
    left_s = min(_details_until_s(job, policy), default=NO_HURRY_S) - now_s
    if left_s <= 0 and any(must_hear(task, inquiry) for task, inquiry in _inquiries(job)):
        return NO_HURRY_S
    is_first = any(inquiry.asked == 0 for _, inquiry in _inquiries(job))
    return max(left_s, _FIRST_QUESTION_S if is_first and not silent else _QUESTION_S)


def _details_until_s(job: WatchedJob, policy: Policy) -> list[float]:
    """Return until when the ends that are proved wait for accounting."""
    return [details_until_s(inquiry, policy) for _, inquiry in _inquiries(job) if is_proved(inquiry)]


def _inquiries(job: WatchedJob) -> Iterator[tuple[Task, Inquiry]]:
    return ((task, task.inquiry) for task in job.tasks.values() if task.inquiry and not task.end)


def interval_s(job: WatchedJob, policy: Policy) -> float:
    """Return how old a queue reply may be for this job."""
    waits = all(task.state.phase is Phase.WAITING and not task.inquiry for task in job.tasks.values())
    return policy.pending_s if waits and (job.tasks or job.waiting) else policy.running_s


def _judged(job: WatchedJob, policy: Policy, now_s: float) -> WatchedJob:
    ends = {
        key: replace(task, end=end, state=end.state, word=end.word)
        for key, task in job.tasks.items()
        if task.end is None and (end := judge(task, policy, now_s)) is not None
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
    return any(inquiry.next_ask_s <= now_s for _, inquiry in _inquiries(job))


def _unexplained(job: WatchedJob) -> tuple[str, ...]:
    """Return the parts whose end asks for an explanation and has none yet."""
    failed = [task for task in job.tasks.values() if task.end and task.end.outcome is not Outcome.SUCCESS]
    failed.sort(key=lambda task: task.end is not None and task.end.outcome is not Outcome.FAILURE)
    return tuple(task.key for task in failed[:EXPLAINED_AT_MOST] if task.diagnosis is None)


def _notice(job: WatchedJob, now_s: float) -> WatchedJob:
    """Owe one message for each thing that keeps the job from ever starting."""
    for subject, message in attention(job, now_s):
        if subject not in job.noticed:
            job = replace(job, noticed=(*job.noticed, subject), outbox=(*job.outbox, Owed(message)))
    return job


def _outage(job: WatchedJob, policy: Policy, now_s: float) -> list[Action]:
    """Return what is to be said about a scheduler that does not answer, or does again."""
    if warning_is_due(job, policy, now_s):
        return [Warn()]
    return [AllClear()] if is_over(job) else []


def _concluded(job: WatchedJob, policy: Policy, now_s: float) -> WatchedJob:
    messages = final(job, now_s, each=policy.array_messages == "each")
    return replace(job, concluded_s=now_s, outbox=job.outbox + tuple(_owed(messages)))


def _owed(messages: tuple[Message, ...]) -> Iterator[Owed]:
    return (Owed(message) for message in messages)


def _heads(job: WatchedJob) -> tuple[Owed, ...]:
    """Return the oldest open message of each channel: none may overtake another."""
    heads: dict[str, Owed] = {}
    for owed in in_order(job.outbox):
        heads.setdefault(owed.message.route, owed)
    return tuple(heads.values())


def _deliveries(job: WatchedJob, now_s: float) -> tuple[Action, ...]:
    return tuple(Deliver(owed.message.id) for owed in _heads(job) if owed.next_try_s <= now_s)


def _finish(job: WatchedJob) -> tuple[Action, ...]:
    return (Finish(),) if job.finished else ()
