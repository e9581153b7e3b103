"""Following one job: observe, decide, save what is owed, act, save. It has no opinions of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from jobmon_core.analysis.job_logs import learn_logs, with_script_logs
from jobmon_core.domain.decide import (
    Action,
    Deliver,
    Diagnose,
    Finish,
    NotifyOutage,
    NotifyRecovered,
    QueryAccounting,
    QueryController,
    accounting_timeout_s,
    decide,
    interval_s,
    wake_s,
)
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.domain.tracking.apply_accounting import apply_accounting
from jobmon_core.domain.tracking.apply_queue import apply_queue, apply_record, mark_answered, mark_unreachable
from jobmon_core.domain.tracking.clock_skew import clamp_to_now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.domain.diagnosis.model import Diagnosis
    from jobmon_core.domain.slurm.rows import AccountingAnswer
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.domain.tracking.policy import Policy
    from jobmon_core.monitor.outage_notifier import OutageNotifier
    from jobmon_core.polling.accounting import SharedAccounting
    from jobmon_core.polling.queue import SharedQueue
    from jobmon_core.scheduler.base import Scheduler
    from jobmon_core.store.jobs import JobStore
    from jobmon_core.system.clock import Clock

FIRST_CHECK_S = 5.0  # how old the very first queue reply may be: the user has just typed the command
_SAVE_INTERVAL_S = (
    300.0  # for how long it need not be saved that the scheduler answered, where it told no news
)
_RECHECK_S = 1.0  # before looking again where another monitor is just asking


@dataclass(frozen=True, slots=True)
class MonitorDeps:
    """Everything outside that following a job needs; each is a seam."""

    scheduler: Scheduler
    queue: SharedQueue
    accounting: SharedAccounting
    outages: OutageNotifier
    store: JobStore
    clock: Clock
    policy: Policy
    cluster_name: Callable[[], str]
    diagnose: Callable[[WatchedJob, tuple[str, ...]], Mapping[str, Diagnosis]]
    deliver: Callable[[OutboxEntry, Callable[[OutboxEntry], None]], tuple[OutboxEntry, ...]]
    cancel_requested: Callable[[str], bool]  # whether the user asked to stop watching this job
    log: Callable[[str], None]


class JobMonitor:
    """One watched job and what is being done about it."""

    def __init__(self, job: WatchedJob, tools: MonitorDeps) -> None:
        """Take up ``job`` where its state file left off.

        A silence that nobody was told of begins anew: while there was no monitor, nobody asked.
        """
        self.job = job if job.outage_s is not None else replace(job, stale_since_s=None, stale_why="")
        self._saved = job
        self._tools = tools
        self._answer_pending = False
        self._started_s = tools.clock.now()
        self._checked_s: float | None = None  # when the latest look at the queue was answered

    def stop(self) -> None:
        """Follow the job no longer."""
        self._tools.queue.forget(self.job.job_id)

    def poll_once(self) -> float | None:
        """Do everything that is due now; return when to come again (Unix seconds), None when all is done.

        Raises:
            StorageFailed: the state can't be saved; nothing was done that it would have noted.
        """
        self._save(clamp_to_now(self.job, self._tools.clock.now()))
        if self._tools.cancel_requested(self.job.id):
            self._save(replace(self.job, unwatched_s=self._tools.clock.now()))
        self._check_queue()
        self._apply_known_accounting()
        performed: set[Action] = set()
        while True:
            now_s = self._tools.clock.now()
            job, actions = decide(self.job, self._tools.policy, now_s)
            self._save(job)
            if Finish() in actions:
                return None
            fresh = [action for action in actions if action not in performed]
            if not fresh:
                return self._wake_s(now_s)
            for action in fresh:
                performed.add(action)
                self._perform(action)

    def _wake_s(self, now_s: float) -> float:
        if self._answer_pending:
            return now_s + _RECHECK_S
        looked_s = self._checked_s if self.job.stale_since_s is None else now_s
        return max(now_s + _RECHECK_S, wake_s(self.job, self._tools.policy, looked_s or now_s, now_s))

    def _save(self, job: WatchedJob) -> None:
        """Save a job; where the disk refuses, nothing is taken for known."""
        if _needs_saving(job, self._saved):
            self._log_changes(job)
            self._tools.store.save(job)
            self._saved = job
        self.job = job

    def _log_changes(self, job: WatchedJob) -> None:
        """Write what is worth reading later into the monitor's log."""
        for key, task in job.tasks.items():
            before = self.job.tasks.get(key)
            if before is None or before.raw_state != task.raw_state:
                reason = f" ({task.reason})" if task.reason not in ("", "None") else ""
                self._tools.log(f"{ref_of(job.job_id, key)}: {task.raw_state or 'not listed'}{reason}")
            if task.end and (before is None or not before.end):
                self._tools.log(f"{ref_of(job.job_id, key)}: {task.end.outcome}, says {task.end.source}")
        if job.stale_why and job.stale_why != self.job.stale_why:
            self._tools.log(f"{job.job_id}: the scheduler does not answer: {job.stale_why}")

    def _check_queue(self) -> None:
        """Take in a queue reply, if there is a new one that can know this job."""
        self._answer_pending = False
        if self.job.closed and (self.job.outage_s is None or self.job.unwatched_s is not None):
            return
        max_age_s = interval_s(self.job, self._tools.policy)
        if self.job.answered_s is None:
            max_age_s = min(FIRST_CHECK_S, max_age_s)
        view = self._tools.queue.look(self.job.user, self.job.job_id, max_age_s)
        self._checked_s = view.came_s if view else None
        if view is None or view.asked_s <= self.job.registered_s:
            self._answer_pending = True
        elif isinstance(view.answer, Unreachable):
            self._save(mark_unreachable(self.job, view.answer.why, max(view.asked_s, self._started_s)))
        elif self.job.closed:
            self._save(mark_answered(self.job, view.asked_s))
        elif self.job.answered_s is None or view.asked_s > self.job.answered_s:
            self._save(apply_queue(self.job, view.answer, view.asked_s, self._tools.policy))

    def _perform(self, action: Action) -> None:
        match action:
            case QueryController():
                self._query_controller()
            case QueryAccounting():
                self._query_accounting()
            case Diagnose(keys):
                self._diagnose(keys)
            case Deliver(message_id, channel):
                self._deliver((message_id, channel))
            case NotifyOutage():
                self._tools.outages.notify_outage(self.job, self._save)
            case NotifyRecovered():
                self._tools.outages.notify_recovered(self.job, self._save)
            case Finish():
                return
            case _:
                assert_never(action)

    def _query_controller(self) -> None:
        answer = self._tools.scheduler.ask_record(self.job.job_id)
        job = apply_record(self.job, answer, self._tools.clock.now())
        job = replace(job, cluster=job.cluster or self._tools.cluster_name())
        if not isinstance(answer, Unreachable | NotListed):
            job = learn_logs(job, answer, self._tools.scheduler)
        self._save(job)

    def _query_accounting(self) -> None:
        self._apply_accounting(
            self._tools.accounting.ask(self.job.job_id, self._due_s(), self._answer_within_s)
        )

    def _answer_within_s(self, silent: bool) -> float:  # noqa: FBT001 - it is the one thing that is asked
        return accounting_timeout_s(self.job, self._tools.policy, self._tools.clock.now(), silent=silent)

    def _apply_known_accounting(self) -> None:
        """Take in what accounting has answered to others already, before anything is judged without it."""
        if not self.job.closed and self._due_s() <= self._tools.clock.now():
            self._apply_accounting(self._tools.accounting.known(self.job.job_id, self._due_s()))

    def _due_s(self) -> float:
        """Return since when accounting is to be asked (Unix seconds); infinity where it is not."""
        inquiries = (task.inquiry for task in self.job.tasks.values() if not task.end)
        return min((inquiry.next_query_s for inquiry in inquiries if inquiry), default=float("inf"))

    def _apply_accounting(self, answer: AccountingAnswer | None) -> None:
        if answer is not None:
            self._save(apply_accounting(self.job, answer, self._tools.policy, self._tools.clock.now()))

    def _diagnose(self, keys: tuple[str, ...]) -> None:
        self._save(with_script_logs(self.job, self._tools.scheduler))
        diagnoses = self._tools.diagnose(self.job, keys)
        tasks = {
            key: replace(self.job.tasks[key], diagnosis=diagnosis) for key, diagnosis in diagnoses.items()
        }
        self._save(replace(self.job, tasks={**self.job.tasks, **tasks}))

    def _deliver(self, key: tuple[str, str]) -> None:
        entry = next(entry for entry in self.job.outbox if entry.key == key)
        replacements = self._tools.deliver(entry, lambda begun: self._save(self._with(key, (begun,))))
        # it is done, whatever the disk says: where it can't be saved now, the next round begins with it
        self.job = self._with(key, replacements)
        self._save(self.job)
        for after in replacements:
            status = "delivered" if after.delivered_s else after.given_up or "to be tried again"
            if after.channel != entry.channel:
                status = f"goes to channel {after.channel}"
            self._tools.log(f"{self.job.job_id}: message {entry.message.id} {status}")

    def _with(self, key: tuple[str, str], replacements: tuple[OutboxEntry, ...]) -> WatchedJob:
        """Return the job with one entry of its outbox replaced."""
        parts = [replacements if entry.key == key else (entry,) for entry in self.job.outbox]
        return replace(self.job, outbox=tuple(entry for part in parts for entry in part))


def _needs_saving(job: WatchedJob, saved: WatchedJob) -> bool:
    """Whether a job is to be written down: not at each answer that tells nothing new.

    The writing would be nearly all that a quiet job costs, and only ``as_of`` would be older without it.
    """
    if job.answered_s is None or saved.answered_s is None:
        return job != saved
    told_s = job.answered_s - saved.answered_s
    return not 0 <= told_s < _SAVE_INTERVAL_S or replace(job, answered_s=saved.answered_s) != saved
