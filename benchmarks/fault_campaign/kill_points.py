"""The named steps of monitoring a job at which a monitor of a campaign kills or freezes itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.delivery.send_queue import RETURN_WITHIN_S, TAKEN_LIMIT_S
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.new_job import NewJob
from jobmon_core.store.jobs import JobStore
from jobmon_core.system.clock import Clock

QUERY, OBSERVE, ENQUEUE, ATTEMPT, SEND, RECEIPT = "query", "observe", "enqueue", "attempt", "send", "receipt"
RECORD = "record"  # that the runs of a job were added to the history
# in the order in which a monitor takes them; all but the query and the send are saves of the state file
STEPS = (
    QUERY,
    *(f"{moment} {save}" for save in (OBSERVE, ENQUEUE, ATTEMPT) for moment in ("before", "after")),
    SEND,
    *(f"{moment} {save}" for save in (RECEIPT, RECORD) for moment in ("before", "after")),
)
# a freeze between the look at the owner record and the new state is worse than a kill there
FREEZE_STEPS = (*STEPS, *(f"within {save}" for save in (OBSERVE, ENQUEUE, ATTEMPT, RECEIPT, RECORD)))
_MAX_SEND_S = 0.06  # a kill during a send comes within this time of its start
_UNANSWERED_QUERIES = 0.05  # share


@dataclass(slots=True)
class KillPoint:
    """Kills or freezes this process when it reaches ``step`` for the ``passes_left``-th time."""

    random: Random
    step: str  # empty: this monitor neither kills nor freezes itself
    freezes: bool
    passes_left: int
    log: Path  # gets a line with the step of each kill or freeze
    late_log: Path  # gets the id of each message for which a monitor was later than others wait
    clock: Clock
    saved: dict[str, WatchedJob] = field(default_factory=dict)  # last saved state, by job

    def reach(self, step: str) -> None:
        """Record that the monitor reached a step; this may kill or freeze it."""
        if step != self.step:
            return
        self.passes_left -= 1
        if self.passes_left > 0:
            return
        with self.log.open("a", encoding="ascii") as file:
            file.write(f"{step}\n")
        self.step = ""
        if step == SEND:
            signal.signal(signal.SIGALRM, lambda *_: self._stop())
            signal.setitimer(signal.ITIMER_REAL, self.random.uniform(0.001, _MAX_SEND_S))
        else:
            self._stop()

    def _stop(self) -> None:
        if self.freezes:
            os.killpg(0, signal.SIGSTOP)  # with what it has forked, as if its host froze
        else:
            signal.raise_signal(signal.SIGKILL)

    def note_late(self, before: WatchedJob, job: WatchedJob, step: str) -> None:
        """Log each message for which this monitor was later than others wait: busy machines are slow.

        They consider a digest interrupted if its attempt takes long, and an offer forgotten if its monitor
        does not return for it.
        """
        is_late = _took_long if step == RECEIPT else _returned_late
        known, now_s = {entry.message.id: entry for entry in before.outbox}, self.clock.now()
        with self.late_log.open("a", encoding="ascii") as file:
            for entry in job.outbox:
                old = known.get(entry.message.id)
                if old and is_late(old, entry, now_s):
                    file.write(f"{entry.message.id}\n")

    def query(self, _program: str) -> bool:
        """Record a query to the cluster, which may kill the monitor; return whether the cluster answers."""
        self.reach(QUERY)
        return self.random.random() >= _UNANSWERED_QUERIES


@dataclass(frozen=True, slots=True)
class KillPointStore(JobStore):
    """The real state files, with a step before and after each save."""

    kill_point: KillPoint

    def save(
        self,
        job: WatchedJob | NewJob,
        check_owner: Callable[[], None] = lambda: None,
        *,
        is_news: bool = True,
    ) -> None:
        """Save a job, unless a kill prevents it."""
        step = self._step(job) if isinstance(job, WatchedJob) else OBSERVE

        def check() -> None:
            check_owner()
            self.kill_point.reach(f"within {step}")

        self.kill_point.reach(f"before {step}")
        before = self.read(self.path(job.id))
        JobStore.save(self, job, check, is_news=is_news)
        if isinstance(job, WatchedJob):
            if isinstance(before, WatchedJob):
                self.kill_point.note_late(before, job, step)
            self.kill_point.saved[job.id] = job
        self.kill_point.reach(f"after {step}")
        if step == ATTEMPT:
            self.kill_point.reach(SEND)

    def _step(self, job: WatchedJob) -> str:
        """Return the step that a save belongs to, by what changed since the last one."""
        before = self.kill_point.saved.get(job.id)
        if before is None:
            return OBSERVE
        if len(job.outbox) > len(before.outbox):
            return ENQUEUE
        if before.record_due_s is not None and job.record_due_s is None:
            return RECORD
        if _attempts(job) > _attempts(before):
            return ATTEMPT
        return RECEIPT if _open_attempts(job) < _open_attempts(before) else OBSERVE


def _took_long(old: OutboxEntry, _new: OutboxEntry, now_s: float) -> bool:
    """Whether an attempt took so long that other monitors considered its digest interrupted."""
    return old.attempt_since_s is not None and now_s - old.attempt_since_s >= TAKEN_LIMIT_S


def _returned_late(old: OutboxEntry, new: OutboxEntry, now_s: float) -> bool:
    """Whether a monitor came back for an offer when the queue no longer held it."""
    lost = old.offered_s is not None and new.maybe_delivered and not old.maybe_delivered
    return lost and now_s >= max(old.next_try_s, old.offered_s or 0.0) + RETURN_WITHIN_S


def _attempts(job: WatchedJob) -> int:
    return sum(entry.attempts for entry in job.outbox)


def _open_attempts(job: WatchedJob) -> int:
    return sum(entry.attempt_since_s is not None for entry in job.outbox)
