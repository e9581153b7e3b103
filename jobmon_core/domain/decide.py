"""Decide what to do next about one watched job.

`decide` takes the job's state and the time, and returns its new state and the actions that are due. The
monitor performs them and calls `decide` again, until it returns nothing new to do now.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.job.job_settings import RestartMode
from jobmon_core.domain.job.restart.model import Verdict
from jobmon_core.domain.job.tracking.conclude import (
    conclude,
    grace_deadline_s,
    is_proved,
    requires_accounting,
)
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.job.tracking.policy import NO_HURRY_S, Policy
from jobmon_core.domain.messages.card_schedule import card_due_s, settle_card
from jobmon_core.domain.messages.job_stuck import stuck_alerts
from jobmon_core.domain.messages.parts import with_message
from jobmon_core.domain.messages.scheduler_outage import outage_is_due, recovery_is_due
from jobmon_core.domain.slurm.states import Outcome, Phase


class Step(StrEnum):
    """An action without parameters."""

    QUERY_CONTROLLER = "query slurmctld for the job's record"
    QUERY_ACCOUNTING = "query accounting for the job's runs"
    NOTIFY_OUTAGE = "report the outage of the scheduler or of accounting, unless another job has done so"
    NOTIFY_RECOVERED = "note that the reported outage is over, and tell the user if that is due"
    DECIDE_RESTART = "decide whether another attempt of the job's lineage follows"
    RESTART = "submit that attempt"
    RECORD = "add the job's runs to the history"
    UPDATE_CARD = "post the card of the job, or edit it if it has changed"
    FINISH = "stop monitoring the job: there is nothing left to do"


@dataclass(frozen=True, slots=True)
class Diagnose:
    """Read the logs of these tasks and find out why they ended as they did."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Deliver:
    """Try once to send a message to a channel; if ``channel`` is empty, only assign it to its channels."""

    message_id: str
    channel: str = ""


Action = Step | Diagnose | Deliver

HINT_INTERVAL_S = 5.0  # between queue checks once an agent or a marker shows that the job may have ended ...
_HINT_LASTS_S = 30.0  # ... for this long
_FIRST_TIMEOUT_S = 20.0  # at least, for the first accounting query: a busy database needs it
_RETRY_TIMEOUT_S = 3.0  # at least, for later queries, and for the first if accounting has just not responded
MAX_DIAGNOSED = 50  # tasks of one job whose logs jobmon reads; the digest groups them by cause


def decide(job: WatchedJob, policy: Policy, now_s: float) -> tuple[WatchedJob, tuple[Action, ...]]:
    """Return the job with the conclusions and messages due at ``now_s`` (Unix seconds), and the actions."""
    job = settle_card(job, policy, now_s)
    if job.unwatched_s is not None:
        return job, (Step.UPDATE_CARD if _card_is_due(job, policy, now_s) else Step.FINISH,)
    job = _conclude_tasks(job, policy, now_s)
    actions: list[Action] = []
    if outage_is_due(job, policy, now_s):
        actions.append(Step.NOTIFY_OUTAGE)
    elif recovery_is_due(job):
        actions.append(Step.NOTIFY_RECOVERED)
    if not job.closed:
        job, queries = _decide_about_open_job(job, policy, now_s)
        actions.extend(queries)
    due = [entry for entry in _next_per_channel(job) if entry.next_try_s <= now_s]
    actions.extend(Deliver(*entry.key) for entry in due)
    if job.closed and job.restart_due_s is not None and job.restart_due_s <= now_s:
        actions.append(Step.RESTART)
    if not actions:
        actions += _what_can_wait(job, policy, now_s)
    if job.finished:
        actions.append(Step.FINISH)
    return job, tuple(actions)


def _what_can_wait(job: WatchedJob, policy: Policy, now_s: float) -> list[Action]:
    is_due = {
        Step.RECORD: job.record_due_s is not None and job.record_due_s <= now_s,
        Step.UPDATE_CARD: _card_is_due(job, policy, now_s),
    }
    return [step for step, due in is_due.items() if due]


def _card_is_due(job: WatchedJob, policy: Policy, now_s: float) -> bool:
    due_s = card_due_s(job, policy)
    return due_s is not None and due_s <= now_s


def _decide_about_open_job(job: WatchedJob, policy: Policy, now_s: float) -> tuple[WatchedJob, list[Action]]:
    actions: list[Action] = []
    if _needs_record(job):
        actions.append(Step.QUERY_CONTROLLER)
    else:  # alerts show the job's name, which the record provides
        job = _add_alerts(job, now_s)
    if any(inquiry.next_query_s <= now_s for _, inquiry in job.open_inquiries()):
        actions.append(Step.QUERY_ACCOUNTING)
    if job.ended:
        undiagnosed = _undiagnosed_keys(job)
        if undiagnosed:
            actions.append(Diagnose(undiagnosed))
        elif job.decision is None and _may_be_restarted(job):
            actions.append(Step.DECIDE_RESTART)
        else:
            job = _with_final_messages(job, policy, now_s)
    return job, actions


def _may_be_restarted(job: WatchedJob) -> bool:
    """Whether to decide about a further attempt: never, if only the user continues it by hand."""
    restart = job.own_settings.restart
    return job.attempt is not None and (restart is None or restart.mode is not RestartMode.OFF)


def _with_final_messages(job: WatchedJob, policy: Policy, now_s: float) -> WatchedJob:
    from jobmon_core.domain.messages.job_ended import job_ended_messages  # not at the top: needed only once
    from jobmon_core.domain.messages.progress_alerts import without_waiting_alerts

    messages = job_ended_messages(
        job, now_s, per_task=policy.array_messages == "each", doubtful_route=Route(policy.doubtful_success)
    )
    if len(job.tasks) == 1:
        messages = tuple(replace(message, digestible=True) for message in messages)
    messages = tuple(each for each in messages if _is_wanted(each.tone, policy.end_messages))
    job = without_waiting_alerts(job)
    outbox = (*job.outbox, *(OutboxEntry(message) for message in messages))
    due_s = _restart_due_s(job)
    return replace(job, concluded_s=now_s, outbox=outbox, restart_due_s=due_s, record_due_s=now_s)


def _restart_due_s(job: WatchedJob) -> float | None:
    decision = job.decision
    if decision is None or decision.verdict is not Verdict.RESTART or decision.is_observed:
        return None
    return decision.not_before_s


def _is_wanted(tone: Tone, end_messages: str) -> bool:
    """Whether the end of a job has a message of its own; the digest of its group reports it anyway."""
    if end_messages == "failures":
        return tone not in (Tone.SUCCESS, Tone.CANCELLED)
    return end_messages == "all"


def wake_s(job: WatchedJob, policy: Policy, last_queue_s: float, now_s: float) -> float:
    """Return when the next action is due; ``last_queue_s`` is the last queue check (both in Unix seconds)."""
    retries = [entry.next_try_s for entry in _next_per_channel(job)]
    if (card_s := card_due_s(job, policy)) is not None:
        retries.append(card_s)
    retries += [due_s for due_s in (job.restart_due_s, job.record_due_s) if due_s is not None]
    if job.closed and job.outage_s is None:
        return min(retries, default=last_queue_s)
    queries = [inquiry.next_query_s for _, inquiry in job.open_inquiries()]
    graces = [deadline_s for deadline_s in _grace_deadlines_s(job, policy) if deadline_s > now_s]
    # logs are read in each pass, also while the queue is checked more rarely
    next_pass_s = now_s + _usual_interval_s(job, policy, now_s)
    return min([last_queue_s + interval_s(job, policy, now_s), next_pass_s, *queries, *graces, *retries])


def accounting_timeout_s(job: WatchedJob, policy: Policy, now_s: float, unresponsive: bool) -> float:  # noqa: FBT001 - the only argument of a callback
    """Return how long an accounting query that starts at ``now_s`` may take (seconds; infinity: no limit).

    There is no limit while a task lives, while no end is proved, or, once the grace is over, while an end
    requires accounting. Otherwise the query may take until the first grace is over, but always at least
    `_FIRST_TIMEOUT_S` or `_RETRY_TIMEOUT_S`. ``unresponsive``: accounting did not respond a moment ago.
    """
    if job.pending_indices or any(task.end is None and task.inquiry is None for task in job.tasks.values()):
        return NO_HURRY_S
    left_s = min(_grace_deadlines_s(job, policy), default=NO_HURRY_S) - now_s
    inquiries = list(job.open_inquiries())
    if left_s <= 0 and any(requires_accounting(task, inquiry) for task, inquiry in inquiries):
        return NO_HURRY_S
    is_first = any(inquiry.attempts == 0 for _, inquiry in inquiries)
    return max(left_s, _FIRST_TIMEOUT_S if is_first and not unresponsive else _RETRY_TIMEOUT_S)


def interval_s(job: WatchedJob, policy: Policy, now_s: float) -> float:
    """Return the time between two queue checks of this job (seconds).

    While agents report about all of its tasks, it grows to half of the time for which they have done so, at
    most to ``policy.reported_s``: they would show the end of the processes. What they show proves nothing, so
    it only leads to an early check.
    """
    usual_s = _usual_interval_s(job, policy, now_s)
    if job.end_hint_s is not None and 0 <= now_s - job.end_hint_s < _HINT_LASTS_S:
        return max(policy.floor_s, policy.early_s, min(usual_s, HINT_INTERVAL_S))
    if job.agents_since_s is None or now_s < job.agents_since_s:
        return usual_s
    return max(usual_s, min(policy.reported_s, (now_s - job.agents_since_s) / 2))


def _usual_interval_s(job: WatchedJob, policy: Policy, now_s: float) -> float:
    """Return the time between two looks at this job: at first shorter, as many fail within a minute."""
    is_pending = all(task.state.phase is Phase.WAITING and not task.inquiry for task in job.tasks.values())
    usual_s = policy.running_s
    if is_pending and (job.tasks or job.pending_indices):
        usual_s = policy.pending_s
    age_s = now_s - job.registered_s
    early_s = usual_s
    if age_s >= 0:
        early_s = min(usual_s, max(policy.first_s, age_s / 2))
    return max(policy.floor_s, early_s)


def _grace_deadlines_s(job: WatchedJob, policy: Policy) -> list[float]:
    return [grace_deadline_s(inquiry, policy) for _, inquiry in job.open_inquiries() if is_proved(inquiry)]


def _conclude_tasks(job: WatchedJob, policy: Policy, now_s: float) -> WatchedJob:
    ended = {
        key: replace(task, end=_explained(job, end), state=end.state, raw_state=end.raw_state)
        for key, task in job.tasks.items()
        if task.end is None and (end := conclude(task, policy, now_s)) is not None
    }
    if ended:
        return replace(job, tasks={**job.tasks, **ended})
    return job


def _explained(job: WatchedJob, end: End) -> End:
    """Return the end; if no source could ever show an outcome, it says why."""
    if end.source is Source.NONE and job.unprovable_why:
        return replace(end, why=job.unprovable_why)
    return end


def _needs_record(job: WatchedJob) -> bool:
    """Whether to query slurmctld for the record: at most once per queue reply.

    It is queried for a new job, when a task starts or may be another job, and while an end is under inquiry.
    """
    if job.answered_s is None or job.record_asked_s >= job.answered_s:
        return False
    return not job.workdir or any(_task_needs_record(task, job) for task in job.tasks.values())


def _task_needs_record(task: Task, job: WatchedJob) -> bool:
    if task.end is not None:
        return False
    if task.inquiry is not None:
        record = task.inquiry.record
        return not task.inquiry.record_gone and (record is None or record.state.is_alive)
    # log paths may change until the start, and only then is the node known; a later submission may be
    # another job with the same id
    is_later_run = (task.submit_s or 0) > (job.submitted_s or 0)
    has_changed = bool(task.history) and job.record_asked_s < task.history[-1].at_s
    return has_changed and (is_later_run or task.state.phase is Phase.ACTIVE)


def _undiagnosed_keys(job: WatchedJob) -> tuple[str, ...]:
    """Return the tasks still to diagnose, of the first `MAX_DIAGNOSED`: failures first, successes last."""
    ended = [(task, task.end.outcome) for task in job.tasks.values() if task.end]
    ended.sort(key=lambda item: (item[1] is Outcome.SUCCESS, item[1] is not Outcome.FAILURE))
    return tuple(task.key for task, _ in ended[:MAX_DIAGNOSED] if task.diagnosis is None)


def _add_alerts(job: WatchedJob, now_s: float) -> WatchedJob:
    for subject, message in stuck_alerts(job, now_s):
        if subject not in job.alerted:
            job = with_message(job, message, subject)
    return job


def _next_per_channel(job: WatchedJob) -> tuple[OutboxEntry, ...]:
    """Return each channel's oldest pending message, and the oldest without a channel: the order is kept.

    Return also each message that is held: it delays no other one.
    """
    oldest: dict[tuple[str, str], OutboxEntry] = {}
    for entry in job.outbox:
        if entry.is_open:
            oldest.setdefault((entry.channel, entry.message.id if entry.held else ""), entry)
    return tuple(oldest.values())
