"""The shared questions: whoever finds an answer too old asks once for all, the others read.

So the load on the scheduler does not grow with the number of monitors. See design: one ``squeue`` an
interval for a user on a host, one ``sacct`` for a batch of endings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.answers import Disabled, Reply, Unreachable
from jobmon_core.store.lock import turn
from jobmon_core.store.replies import ReplyFile, SharedReply

if TYPE_CHECKING:
    from jobmon_core.domain.observation import AccountingAnswer, QueueRow
    from jobmon_core.engine.clock import Clock
    from jobmon_core.scheduler.contract import Scheduler

_NAME_LASTS_S = 86_400.0
COALESCE_S = 1.0  # how long endings are collected before accounting is asked for all of them


@dataclass(frozen=True, slots=True)
class QueueView:
    """What the queue said about one job, and when it was asked."""

    asked_s: float
    answer: tuple[QueueRow, ...] | Unreachable


@dataclass(frozen=True, slots=True)
class SharedQueue:
    """The queue of one user, as all monitors of this host see it."""

    scheduler: Scheduler
    file: ReplyFile
    clock: Clock

    def look(self, user: str, job_id: int, max_age_s: float) -> QueueView | None:
        """Return a view not older than ``max_age_s``; None while another monitor is asking for one.

        Where the last question had no answer, that stands while the next is asked: a scheduler that hangs
        must not keep those who wait for their turn from knowing it.
        """
        reply = self.file.read()
        if not self._fresh(reply, max_age_s):
            with turn(self.file.lock_path) as mine:
                if mine:
                    reply = self.file.read()
                    if not self._fresh(reply, max_age_s):
                        reply = self._ask(user)
                elif not reply.problem:
                    return None
        if reply.problem:
            return QueueView(reply.asked_s, Unreachable(reply.problem))
        return QueueView(reply.asked_s, self.scheduler.read_queue(reply.text, job_id))

    def _fresh(self, reply: SharedReply, max_age_s: float) -> bool:
        age_s = self.clock.now() - reply.asked_s
        return 0 <= age_s < max_age_s

    def _ask(self, user: str) -> SharedReply:
        asked_s = self.clock.now()
        reply = _shared(self.scheduler.ask_queue(user), asked_s)
        self.file.write(reply)
        return reply


@dataclass(frozen=True, slots=True)
class SharedClusterName:
    """The name of the cluster that this host talks to: asked for once a day, whatever the monitors."""

    scheduler: Scheduler
    file: ReplyFile
    clock: Clock

    def get(self) -> str:
        """Return the name; empty where the scheduler will not say now."""
        known = self.file.read()
        if known.text and 0 <= self.clock.now() - known.asked_s < _NAME_LASTS_S:
            return known.text
        name = self.scheduler.cluster_name()
        if name:
            self.file.write(SharedReply(self.clock.now(), name))
        return name

    def last_known(self) -> str:
        """Return the name as it was last told, without asking; empty where it never was."""
        return self.file.read().text


@dataclass(frozen=True, slots=True)
class SharedAccounting:
    """Accounting's answers about the jobs that ended, whoever asked for them."""

    scheduler: Scheduler
    file: ReplyFile
    clock: Clock

    def ask(self, job_id: int, since_s: float) -> AccountingAnswer | None:
        """Return an answer asked for at ``since_s`` or later; None while a batch is being collected."""
        with turn(self.file.lock_path) as mine:
            if not mine:
                return None
            reply = self.file.read()
            if job_id in reply.about and since_s <= reply.asked_s <= self.clock.now():
                return self._answer(reply, job_id)
            wanted = {**reply.wanted}
            wanted.setdefault(str(job_id), self.clock.now())
            if 0 <= self.clock.now() - min(wanted.values()) < COALESCE_S:
                self.file.write(replace(reply, wanted=wanted))
                return None
            return self._answer(self._ask(wanted), job_id)

    def _ask(self, wanted: dict[str, float]) -> SharedReply:
        job_ids = tuple(sorted(int(job_id) for job_id in wanted))
        asked_s = self.clock.now()
        reply = replace(_shared(self.scheduler.ask_accounting(job_ids), asked_s), about=job_ids)
        self.file.write(reply)
        return reply

    def _answer(self, reply: SharedReply, job_id: int) -> AccountingAnswer:
        if reply.disabled:
            return Disabled()
        if reply.problem:
            return Unreachable(reply.problem)
        return self.scheduler.read_accounting(reply.text, job_id)


def _shared(answer: Reply | Disabled | Unreachable, asked_s: float) -> SharedReply:
    match answer:
        case Reply():
            return SharedReply(asked_s, answer.text)
        case Disabled():
            return SharedReply(asked_s, disabled=True)
        case Unreachable():
            return SharedReply(asked_s, problem=answer.why or "no answer")
