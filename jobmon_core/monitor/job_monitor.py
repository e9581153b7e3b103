"""The monitor of one job: observe, decide, save, act, save. All decisions are made by `domain.decide`."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, assert_never

from jobmon_core.analysis.job_logs import with_scheduler_logs, with_script_logs
from jobmon_core.domain.decide import (
    Action,
    Deliver,
    Diagnose,
    Step,
    accounting_timeout_s,
    decide,
    interval_s,
    wake_s,
)
from jobmon_core.domain.delivery.outbox import delivery_status, reopened, with_replacements
from jobmon_core.domain.job.tracking.apply_queue import apply_queue, mark_answered, mark_unreachable
from jobmon_core.domain.job.tracking.apply_record import apply_record
from jobmon_core.domain.job.tracking.clock_skew import clamp_to_now
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.policy import SAVE_INTERVAL_S
from jobmon_core.domain.job.tracking.reopen import may_be_requeued, reopened_if_requeued
from jobmon_core.domain.job.tracking.tasks import with_diagnoses
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.domain.slurm.states import Phase, stated_reason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmon_core.domain.delivery.card import JobCard
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.domain.job.restart.model import Decision
    from jobmon_core.domain.job.tracking.policy import Policy
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis, EarlierLog
    from jobmon_core.domain.many.groups.model import GroupSettings
    from jobmon_core.domain.slurm.rows import AccountingAnswer, JobRow, RecordAnswer
    from jobmon_core.monitor.agents import Agents
    from jobmon_core.monitor.done_hints import DoneHints
    from jobmon_core.monitor.outage_notifier import OutageNotifier
    from jobmon_core.monitor.progress_follower import Events, ProgressFollower
    from jobmon_core.polling.accounting import SharedAccounting
    from jobmon_core.polling.queue import SharedQueue
    from jobmon_core.scheduler.base import Scheduler
    from jobmon_core.store.jobs import JobStore
    from jobmon_core.store.owner import RequestFile
    from jobmon_core.system.clock import Clock

# how old a queue answer may be, unless the policy allows more: the first one for a job, which may have just
# been submitted; and one for a job whose log may show a failure, since the warning says that it still runs
FIRST_MAX_AGE_S, _MAX_AGE_OF_SUSPECT_S = 5.0, 2.0
# what an answer without news leaves as it is
_news = attrgetter(*(each.name for each in fields(WatchedJob) if each.name != "answered_s"))
_RECHECK_S = 1.0  # the shortest wait for the next poll; also while another monitor is querying the scheduler


@dataclass(frozen=True, slots=True)
class MonitorDeps:
    """What the monitor of a job needs: `wiring` provides it, tests replace each of them."""

    scheduler: Scheduler
    queue: SharedQueue
    accounting: SharedAccounting
    outages: OutageNotifier
    store: JobStore
    clock: Clock
    policy: Policy
    cluster_name: Callable[[], str]
    diagnose: Callable[[WatchedJob, tuple[str, ...]], Mapping[str, Diagnosis]]
    earlier_logs: Callable[[WatchedJob], dict[str, EarlierLog]]
    progress: ProgressFollower
    agents: Agents
    # adds the end that files prove, if nobody sees an exit code
    with_proof: Callable[[WatchedJob, RecordAnswer], RecordAnswer]
    done_hints: DoneHints
    is_cancelled: Callable[[], bool]  # whether the user asked to stop watching the job
    check_owner: Callable[[], None]  # raises an exception if this process is not the owner of the job
    deliver: Callable[[OutboxEntry, Callable[[OutboxEntry], None]], tuple[OutboxEntry, ...]]
    update_card: Callable[[WatchedJob], JobCard]
    decide_restart: Callable[[WatchedJob], Decision]  # and save it in the job's lineage
    restart: Callable[[WatchedJob], WatchedJob]  # submits the next attempt; returns the job after that
    record: Callable[[WatchedJob], float | None]  # in the history; returns when to try again
    log: Callable[[str], None]
    # adds a message about what only the look after the end of an attempt has found
    with_late_warning: Callable[[WatchedJob], WatchedJob] = lambda job: job
    is_restart_off: Callable[[WatchedJob], bool] = lambda _job: False  # ended or submitted by hand
    replay: RequestFile | None = None  # the user's request to send given-up messages again
    group: Callable[[], GroupSettings | None] = lambda: None  # of the job's group, if it is in one
    # cancels an attempt of a lineage that has stalled for longer than the user allows
    stop_if_stalled: Callable[[WatchedJob, Events, Callable[[WatchedJob], None]], None] = lambda *_: None


class JobMonitor:
    """One watched job, its state and the work on it."""

    def __init__(self, job: WatchedJob, deps: MonitorDeps) -> None:
        """Begin to watch ``job``, as loaded from its state file."""
        # forget an outage that was not reported yet: no monitor was querying, so its duration is unknown
        self.job = job if job.outage_s is not None else replace(job, stale_since_s=None, stale_why="")
        self._saved = job
        self._deps = deps
        self._policy = deps.policy
        self._answer_pending = False
        # applying these rows changes nothing
        self._settled: tuple[WatchedJob, tuple[JobRow, ...]] | None = None
        self._is_remembered = True  # whether the queue lists the job, after its end
        self._started_s = deps.clock.now()
        self._agents_due_s = float("inf")
        self._checked_s: float | None = None  # when the scheduler gave the latest queue answer
        deps.queue.follow(job.job_id)

    def stop(self) -> None:
        """Stop watching the job."""
        self._deps.queue.forget(self.job.job_id)
        self._deps.progress.forget(self.job.id)
        self._deps.agents.forget(self.job.id)
        self._deps.done_hints.forget(self.job.id)

    def poll_once(self) -> float | None:
        """Do everything that is due; return when to poll again (Unix seconds), None if nothing is left to do.

        After StorageFailed, the actions that depend on the unsaved state were not performed. AlreadyWatched
        if another monitor has adopted the job: each save, message and card checks this.
        """
        group = self._deps.group()
        policy = self._deps.policy
        self._policy = policy if group is None else policy.of_group(group.interval_s, group.messages)
        now_s = self._deps.clock.now()
        self._save(clamp_to_now(self.job, now_s))
        if self._deps.is_cancelled():
            self._save(replace(self.job, unwatched_s=now_s))
        if self.job.is_restarting and self._deps.is_restart_off(self.job):
            self._save(replace(self.job, restart_due_s=None))
        self._reopen_on_request()
        self._check_queue()
        self._follow_agents()
        self._apply_known_accounting()
        self._follow_progress()
        performed: set[Action] = set()
        while True:
            now_s = self._deps.clock.now()
            job, actions = decide(self.job, self._policy, now_s)
            self._save(job)
            if Step.FINISH in actions:
                return self._next_requeue_look_s(now_s)
            due = [action for action in actions if action not in performed]
            if not due:
                return self._wake_s(now_s)
            for action in due:
                performed.add(action)
                self._perform(action)

    def _reopen_on_request(self) -> None:
        request = self._deps.replay
        if request is not None and request.is_pending():
            self._save(replace(self.job, outbox=tuple(reopened(entry) for entry in self.job.outbox)))
            request.clear()  # last: if this one is killed before, the next monitor reopens them again

    def _wake_s(self, now_s: float) -> float:
        if self._answer_pending:
            return now_s + _RECHECK_S
        checked_s = now_s
        if self.job.stale_since_s is None and self._checked_s:
            checked_s = self._checked_s
        due_s = wake_s(self.job, self._policy, checked_s, now_s)
        return max(now_s + _RECHECK_S, min(due_s, self._deps.progress.due_s(self.job), self._agents_due_s))

    def _save(self, job: WatchedJob) -> None:
        """Make ``job`` the current state, on disk if it needs saving; if that fails, keep the old state."""
        policy = self._deps.policy
        is_changed = job.tasks is not self.job.tasks or job.name != self.job.name
        if is_changed and (policy.has_programs or policy.also):
            from jobmon_core.domain.messages.changes import with_change_messages  # only if the user wants it

            job = with_change_messages(self.job, job, policy, self._deps.clock.now())
        is_news = _is_news(job, self._saved)
        unsaved_s = (job.answered_s or 0.0) - (self._saved.answered_s or 0.0)
        if is_news or not 0 <= unsaved_s < SAVE_INTERVAL_S:  # rarely without news, as saving costs most
            self._deps.store.save(job, self._deps.check_owner, is_news=is_news)
            self._saved = job
            self._log_changes(job)
        self.job = job

    def _log_changes(self, job: WatchedJob) -> None:
        for key, task in job.tasks.items():
            before = self.job.tasks.get(key)
            if before is None or before.raw_state != task.raw_state:
                reason = f" ({reason})" if (reason := stated_reason(task.reason)) else ""
                self._deps.log(f"{ref_of(job.job_id, key)}: {task.raw_state or 'not listed'}{reason}")
            if task.end and (before is None or not before.end):
                source = job.source_phrase(task.end.source)
                self._deps.log(f"{ref_of(job.job_id, key)}: {task.end.outcome}, {source}")
        if job.stale_why and job.stale_why != self.job.stale_why:
            self._deps.log(f"{job.job_id}: the scheduler does not respond: {job.stale_why}")

    def _check_queue(self) -> None:
        """Apply the queue answer, if it is new and was requested after the job was registered."""
        self._answer_pending = False
        # a concluded job that reported an outage waits for the first answer, to report the end of the outage
        if self.job.closed and (self.job.outage_s is None or self.job.unwatched_s is not None):
            self._look_for_requeue()
            return
        max_age_s = interval_s(self.job, self._policy, self._deps.clock.now())
        if self.job.answered_s is None:
            max_age_s = min(FIRST_MAX_AGE_S, max_age_s)
        if self._deps.progress.may_have_failed(self.job):
            max_age_s = min(max(self._policy.early_s, _MAX_AGE_OF_SUSPECT_S), max_age_s)
        max_age_s = max(max_age_s, self._policy.floor_s)
        view = self._deps.queue.view(self.job.user, self.job.job_id, max_age_s)
        self._checked_s = view.answered_s if view else None
        if view is None or view.asked_s <= self.job.registered_s:
            self._answer_pending = True
        elif isinstance(view.answer, Unreachable):
            self._save(mark_unreachable(self.job, view.answer.why, max(view.asked_s, self._started_s)))
        elif self.job.closed:
            self._save(mark_answered(self.job, view.asked_s))
        elif self.job.answered_s is None or view.asked_s > self.job.answered_s:
            self._apply_queue(view.answer, view.asked_s)

    def _apply_queue(self, rows: tuple[JobRow, ...], asked_s: float) -> None:
        before = self.job
        if self._settled and self._settled[0] is before and self._settled[1] == rows:
            self._save(mark_answered(before, asked_s))
        else:
            self._save(apply_queue(before, rows, asked_s, self._policy, self._deps.clock.now()))
        self._settled = (self.job, rows) if _news(self.job) == _news(before) else None

    def _next_requeue_look_s(self, now_s: float) -> float | None:
        """Return when to look whether Slurm runs a failed job again; None: it cannot."""
        is_single = self._deps.group() is None  # a group is complete once its jobs have ended
        can_return = self._is_remembered and is_single and may_be_requeued(self.job, now_s)
        return now_s + self._policy.pending_s if can_return else None

    def _look_for_requeue(self) -> None:
        now_s = self._deps.clock.now()
        if not self.job.finished:
            return
        stored = self._deps.store.load(self.job.id)
        if not stored.finished:  # `jobmon watch --again`, or `jobmon init` reopened its given-up messages
            self.job = self._saved = stored
            return
        if not may_be_requeued(self.job, now_s):
            return
        view = self._deps.queue.view(self.job.user, self.job.job_id, self._policy.pending_s)
        if view and not isinstance(view.answer, Unreachable) and view.asked_s > (self.job.concluded_s or 0.0):
            self._is_remembered = bool(view.answer)
            after = apply_queue(self.job, view.answer, view.asked_s, self._policy, now_s)
            self._save(reopened_if_requeued(self.job, after))

    def _follow_agents(self) -> None:
        """Keep agents beside the running tasks; a new hint or marker causes an early check of the queue."""
        reports = self._deps.agents.follow(self.job, self._deps.log)
        self._agents_due_s = reports.due_s
        if reports.is_urgent:
            self._deps.progress.request_early_reading(self.job.id)
        hints_s = (reports.end_hint_s, self._deps.done_hints.follow(self.job))
        end_hint_s = max((hint_s for hint_s in hints_s if hint_s is not None), default=None)
        is_new_hint = end_hint_s not in (None, self.job.end_hint_s)
        if (reports.since_s, end_hint_s) != (self.job.agents_since_s, self.job.end_hint_s):
            self._save(replace(self.job, agents_since_s=reports.since_s, end_hint_s=end_hint_s))
        if is_new_hint:
            self._check_queue()

    def _follow_progress(self) -> None:
        """Read the logs of the running tasks if that is due, and queue a message for each warning."""
        if self.job.closed:
            return
        events = self._deps.progress.follow(self.job, self._deps.log)
        restart = self.job.own_settings.restart
        if events and restart and restart.stall_limit_s is not None:
            self._deps.check_owner()
            self._deps.stop_if_stalled(self.job, events, self._save)
        policy = self._policy
        if events:
            from jobmon_core.domain.messages.progress_alerts import (  # rarely needed
                with_further_events,
                with_progress_alerts,
            )

            now_s = self._deps.clock.now()
            job = with_further_events(self.job, events, policy, now_s)
            self._save(with_progress_alerts(job, events, now_s) if policy.progress_messages else job)

    def _perform(self, action: Action) -> None:
        match action:
            case Step.QUERY_CONTROLLER:
                self._query_controller()
            case Step.QUERY_ACCOUNTING:
                self._query_accounting()
            case Diagnose(keys):
                self._diagnose(keys)
            case Deliver(message_id, channel):
                self._deliver((message_id, channel))
            case Step.NOTIFY_OUTAGE | Step.NOTIFY_RECOVERED:
                outages = self._deps.outages
                is_over = action is Step.NOTIFY_RECOVERED
                (outages.notify_recovered if is_over else outages.notify_outage)(self.job, self._save)
            case Step.DECIDE_RESTART | Step.RESTART:
                self._restart(is_decided=action is Step.RESTART)
            case Step.RECORD:
                self._save(replace(self.job, record_due_s=self._deps.record(self.job)))
            case Step.UPDATE_CARD:
                self._update_card()
            case Step.FINISH:
                return
            case _:
                assert_never(action)

    def _restart(self, *, is_decided: bool) -> None:
        self._deps.check_owner()
        if is_decided:
            self._save(self._deps.restart(self.job))
        else:
            self._save(replace(self.job, decision=self._deps.decide_restart(self.job)))

    def _query_controller(self) -> None:
        asked_s = self._deps.clock.now()
        answer = self._deps.scheduler.ask_record(self.job.job_id)
        if self.job.unprovable_why:
            answer = self._deps.with_proof(self.job, answer)
        job = apply_record(self.job, answer, asked_s)
        job = replace(job, cluster=job.cluster or self._deps.cluster_name())
        if not isinstance(answer, Unreachable | NotListed):
            job = self._with_earlier_logs(with_scheduler_logs(job, answer, self._deps.scheduler))
        self._save(job)

    def _with_earlier_logs(self, job: WatchedJob) -> WatchedJob:
        """Once the paths of the logs are known, note what they hold; not for an array or after the start."""
        is_pending = all(
            task.state.phase is Phase.WAITING and not task.restarts for task in job.tasks.values()
        )
        if self.job.logs.source or not job.logs.source or job.is_array or not is_pending:
            return job
        earlier_logs = self._deps.earlier_logs(job)
        # the job may have started and printed something while the logs were read
        if earlier_logs and self._is_still_waiting():
            return replace(job, earlier_logs=earlier_logs)
        return job

    def _is_still_waiting(self) -> bool:
        answer = self._deps.scheduler.ask_record(self.job.job_id)
        if isinstance(answer, Unreachable | NotListed):
            return False
        return all(record.state.phase is Phase.WAITING and not record.restarts for record in answer)

    def _query_accounting(self) -> None:
        timeout_for = partial(accounting_timeout_s, self.job, self._policy, self._deps.clock.now())
        self._apply_accounting(self._deps.accounting.ask(self.job.job_id, self._query_due_s(), timeout_for))

    def _apply_known_accounting(self) -> None:
        """Apply an accounting answer that another monitor obtained, so that no new query is needed."""
        if not self.job.closed and self._query_due_s() <= self._deps.clock.now():
            self._apply_accounting(self._deps.accounting.known(self.job.job_id, self._query_due_s()))

    def _query_due_s(self) -> float:
        due = (inquiry.next_query_s for _, inquiry in self.job.open_inquiries())
        return min(due, default=float("inf"))

    def _apply_accounting(self, answer: AccountingAnswer | None) -> None:
        if answer is not None:
            # needed only at an end
            from jobmon_core.domain.job.tracking.apply_accounting import apply_accounting

            self._save(apply_accounting(self.job, answer, self._policy, self._deps.clock.now()))

    def _diagnose(self, keys: tuple[str, ...]) -> None:
        self._save(with_script_logs(self.job, self._deps.scheduler))
        job = with_diagnoses(self.job, self._deps.diagnose(self.job, keys))
        self._save(self._deps.with_late_warning(job) if self._policy.progress_messages else job)

    def _deliver(self, key: tuple[str, str]) -> None:
        entry = next(entry for entry in self.job.outbox if entry.key == key)
        replacements = self._deps.deliver(entry, lambda attempt: self._save(self._with(key, (attempt,))))
        self.job = self._with(key, replacements)  # kept in memory even if unsaved, since the attempt was made
        self._save(self.job)
        for after in replacements:
            self._deps.log(f"{self.job.job_id}: message {entry.message.id} {delivery_status(entry, after)}")

    def _update_card(self) -> None:
        card = self._deps.update_card(self.job)
        if card.problem and card != self.job.card:
            self._deps.log(f"{self.job.job_id}: the card is no longer posted or edited: {card.problem}")
        self.job = replace(self.job, card=card)  # kept in memory even if unsaved, since it may be posted
        self._save(self.job)

    def _with(self, key: tuple[str, str], replacements: tuple[OutboxEntry, ...]) -> WatchedJob:
        return replace(self.job, outbox=with_replacements(self.job.outbox, key, replacements))


def _is_news(job: WatchedJob, saved: WatchedJob) -> bool:
    """Whether to save a job at once, since more than the last answer has changed."""
    if job is saved or job.answered_s is None or saved.answered_s is None:
        return job != saved
    return _news(job) != _news(saved)
