"""Following one job: observe, decide, save what is owed, act, save. It has no opinions of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from jobmon_core.analysis.job_logs import learn_logs, with_script_logs
from jobmon_core.domain.decide import (
    Action,
    AllClear,
    AskAccounting,
    AskRecord,
    Deliver,
    Explain,
    Finish,
    Warn,
    answer_within_s,
    decide,
    interval_s,
    wake_s,
)
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.domain.tracking.apply_accounting import fold_accounting
from jobmon_core.domain.tracking.apply_queue import answered, fold_queue, fold_record, unreachable
from jobmon_core.domain.tracking.clock_skew import not_after

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmon_core.domain.delivery.outbox import Owed
    from jobmon_core.domain.diagnosis.model import Diagnosis
    from jobmon_core.domain.slurm.rows import AccountingAnswer
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.domain.tracking.policy import Policy
    from jobmon_core.monitor.outage_notifier import Outages
    from jobmon_core.polling.accounting import SharedAccounting
    from jobmon_core.polling.queue import SharedQueue
    from jobmon_core.scheduler.base import Scheduler
    from jobmon_core.store.jobs import JobStore
    from jobmon_core.system.clock import Clock

FIRST_LOOK_S = 5.0  # how old the very first queue reply may be: the user has just typed the command
_UNWRITTEN_S = 300.0  # for how long it need not be saved that the scheduler answered, where it told no news
_NO_NEWS_S = 1.0  # before looking again where another monitor is just asking


@dataclass(frozen=True, slots=True)
class Tools:
    """Everything outside that following a job needs; each is a seam."""

    scheduler: Scheduler
    queue: SharedQueue
    accounting: SharedAccounting
    outages: Outages
    store: JobStore
    clock: Clock
    policy: Policy
    cluster_name: Callable[[], str]
    explain: Callable[[WatchedJob, tuple[str, ...]], Mapping[str, Diagnosis]]
    deliver: Callable[[Owed, Callable[[Owed], None]], Owed]
    dropped: Callable[[str], bool]  # whether the user asked to stop watching this job
    log: Callable[[str], None]


class Supervisor:
    """One watched job and what is being done about it."""

    def __init__(self, job: WatchedJob, tools: Tools) -> None:
        """Take up ``job`` where its state file left off.

        A silence that nobody was told of begins anew: while there was no monitor, nobody asked.
        """
        self.job = job if job.outage_s is not None else replace(job, stale_since_s=None, stale_why="")
        self._saved = job
        self._tools = tools
        self._news_late = False
        self._began_s = tools.clock.now()
        self._looked_s: float | None = None  # when the latest look at the queue was answered

    def leave(self) -> None:
        """Follow the job no longer."""
        self._tools.queue.forget(self.job.job_id)

    def round(self) -> float | None:
        """Do everything that is due now; return when to come again (Unix seconds), None when all is done.

        Raises:
            StorageFailed: the state can't be saved; nothing was done that it would have noted.
        """
        self._keep(not_after(self.job, self._tools.clock.now()))
        if self._tools.dropped(self.job.id):
            self._keep(replace(self.job, dropped_s=self._tools.clock.now()))
        self._look()
        self._hear_accounting()
        performed: set[Action] = set()
        while True:
            now_s = self._tools.clock.now()
            job, actions = decide(self.job, self._tools.policy, now_s)
            self._keep(job)
            if Finish() in actions:
                return None
            fresh = [action for action in actions if action not in performed]
            if not fresh:
                return self._wake_s(now_s)
            for action in fresh:
                performed.add(action)
                self._perform(action)

    def _wake_s(self, now_s: float) -> float:
        if self._news_late:
            return now_s + _NO_NEWS_S
        looked_s = self._looked_s if self.job.stale_since_s is None else now_s
        return max(now_s + _NO_NEWS_S, wake_s(self.job, self._tools.policy, looked_s or now_s, now_s))

    def _keep(self, job: WatchedJob) -> None:
        """Save a job; where the disk refuses, nothing is taken for known."""
        if _is_news(job, self._saved):
            self._tell_changes(job)
            self._tools.store.save(job)
            self._saved = job
        self.job = job

    def _tell_changes(self, job: WatchedJob) -> None:
        """Write what is worth reading later into the monitor's log."""
        for key, task in job.tasks.items():
            before = self.job.tasks.get(key)
            if before is None or before.word != task.word:
                reason = f" ({task.reason})" if task.reason not in ("", "None") else ""
                self._tools.log(f"{ref_of(job.job_id, key)}: {task.word or 'not listed'}{reason}")
            if task.end and (before is None or not before.end):
                self._tools.log(f"{ref_of(job.job_id, key)}: {task.end.outcome}, says {task.end.witness}")
        if job.stale_why and job.stale_why != self.job.stale_why:
            self._tools.log(f"{job.job_id}: the scheduler does not answer: {job.stale_why}")

    def _look(self) -> None:
        """Take in a queue reply, if there is a new one that can know this job."""
        self._news_late = False
        if self.job.closed and (self.job.outage_s is None or self.job.dropped_s is not None):
            return
        max_age_s = interval_s(self.job, self._tools.policy)
        if self.job.answered_s is None:
            max_age_s = min(FIRST_LOOK_S, max_age_s)
        view = self._tools.queue.look(self.job.user, self.job.job_id, max_age_s)
        self._looked_s = view.came_s if view else None
        if view is None or view.asked_s <= self.job.taken_s:
            self._news_late = True
        elif isinstance(view.answer, Unreachable):
            self._keep(unreachable(self.job, view.answer.why, max(view.asked_s, self._began_s)))
        elif self.job.closed:
            self._keep(answered(self.job, view.asked_s))
        elif self.job.answered_s is None or view.asked_s > self.job.answered_s:
            self._keep(fold_queue(self.job, view.answer, view.asked_s, self._tools.policy))

    def _perform(self, action: Action) -> None:
        match action:
            case AskRecord():
                self._ask_record()
            case AskAccounting():
                self._ask_accounting()
            case Explain(keys):
                self._explain(keys)
            case Deliver(message_id):
                self._deliver(message_id)
            case Warn():
                self._tools.outages.warn(self.job, self._keep)
            case AllClear():
                self._tools.outages.all_clear(self.job, self._keep)
            case Finish():
                return
            case _:
                assert_never(action)

    def _ask_record(self) -> None:
        answer = self._tools.scheduler.ask_record(self.job.job_id)
        job = fold_record(self.job, answer, self._tools.clock.now())
        job = replace(job, cluster=job.cluster or self._tools.cluster_name())
        if not isinstance(answer, Unreachable | NotListed):
            job = learn_logs(job, answer, self._tools.scheduler)
        self._keep(job)

    def _ask_accounting(self) -> None:
        self._take_in(self._tools.accounting.ask(self.job.job_id, self._due_s(), self._answer_within_s))

    def _answer_within_s(self, silent: bool) -> float:  # noqa: FBT001 - it is the one thing that is asked
        return answer_within_s(self.job, self._tools.policy, self._tools.clock.now(), silent=silent)

    def _hear_accounting(self) -> None:
        """Take in what accounting has answered to others already, before anything is judged without it."""
        if not self.job.closed and self._due_s() <= self._tools.clock.now():
            self._take_in(self._tools.accounting.known(self.job.job_id, self._due_s()))

    def _due_s(self) -> float:
        """Return since when accounting is to be asked (Unix seconds); infinity where it is not."""
        inquiries = (task.inquiry for task in self.job.tasks.values() if not task.end)
        return min((inquiry.next_ask_s for inquiry in inquiries if inquiry), default=float("inf"))

    def _take_in(self, answer: AccountingAnswer | None) -> None:
        if answer is not None:
            self._keep(fold_accounting(self.job, answer, self._tools.policy, self._tools.clock.now()))

    def _explain(self, keys: tuple[str, ...]) -> None:
        self._keep(with_script_logs(self.job, self._tools.scheduler))
        diagnoses = self._tools.explain(self.job, keys)
        tasks = {
            key: replace(self.job.tasks[key], diagnosis=diagnosis) for key, diagnosis in diagnoses.items()
        }
        self._keep(replace(self.job, tasks={**self.job.tasks, **tasks}))

    def _deliver(self, message_id: str) -> None:
        owed = next(owed for owed in self.job.outbox if owed.message.id == message_id)
        settled = self._tools.deliver(owed, lambda begun: self._keep(self._with(begun)))
        # it is done, whatever the disk says: where it can't be saved now, the next round begins with it
        self.job = self._with(settled)
        self._keep(self.job)
        fate = "delivered" if settled.delivered_s else settled.given_up or "to be tried again"
        self._tools.log(f"{self.job.job_id}: message {message_id} {fate}")

    def _with(self, owed: Owed) -> WatchedJob:
        """Return the job with what became of one of its messages."""
        outbox = tuple(owed if each.message.id == owed.message.id else each for each in self.job.outbox)
        return replace(self.job, outbox=outbox)


def _is_news(job: WatchedJob, saved: WatchedJob) -> bool:
    """Whether a job is to be written down: not at each answer that tells nothing new.

    The writing would be nearly all that a quiet job costs, and only ``as_of`` would be older without it.
    """
    if job.answered_s is None or saved.answered_s is None:
        return job != saved
    told_s = job.answered_s - saved.answered_s
    return not 0 <= told_s < _UNWRITTEN_S or replace(job, answered_s=saved.answered_s) != saved
