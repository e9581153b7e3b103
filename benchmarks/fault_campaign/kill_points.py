"""Where a monitor of a campaign is killed by itself: at the named steps of following a job."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from jobmon_core.domain.tracking.model import WatchedJob
from jobmon_core.domain.tracking.new_job import NewJob
from jobmon_core.store.jobs import JobStore

ASK, OBSERVE, OWE, NOTE, TICK, SENDING = "ask", "observe", "owe", "note", "tick", "sending"
# in the order of a job's way: what is asked, what is learnt, what is owed, what is sent
STEPS = (
    ASK,
    f"before {OBSERVE}",
    f"after {OBSERVE}",
    f"before {OWE}",
    f"after {OWE}",
    f"before {NOTE}",
    f"after {NOTE}",
    SENDING,
    f"before {TICK}",
    f"after {TICK}",
)
_LONGEST_SEND_S = 0.06  # a kill in the middle of a send comes within this time of its beginning
_SILENCE = 0.05  # share of the questions that the cluster does not answer


@dataclass(slots=True)
class Peril:
    """What awaits one monitor: death at the ``passages``-th time that it comes by the step ``doom``."""

    dice: Random
    doom: str  # a step; empty for a monitor that is spared, or killed from outside
    passages: int
    log: Path  # takes the name of the step at which it died
    saved: dict[str, WatchedJob] = field(default_factory=dict)

    def pass_by(self, step: str) -> None:
        """Come by a step, which may be the last."""
        if step != self.doom:
            return
        self.passages -= 1
        if self.passages > 0:
            return
        self._note()
        if step == SENDING:
            signal.signal(signal.SIGALRM, lambda *_: _die())
            signal.setitimer(signal.ITIMER_REAL, self.dice.uniform(0.001, _LONGEST_SEND_S))
        else:
            _die()

    def asked(self, program: str) -> bool:
        """Come by a question to the cluster; say whether it is answered."""
        self.pass_by(ASK)
        return not program or self.dice.random() >= _SILENCE

    def _note(self) -> None:
        with self.log.open("a", encoding="ascii") as file:
            file.write(f"{self.doom}\n")


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class PerilousStore(JobStore):
    """The real state files; before and after each save is a step."""

    peril: Peril

    def save(self, job: WatchedJob | NewJob) -> None:
        """Write a job durably, if it comes to that."""
        step = self._step(job) if isinstance(job, WatchedJob) else OBSERVE
        self.peril.pass_by(f"before {step}")
        JobStore.save(self, job)
        if isinstance(job, WatchedJob):
            self.peril.saved[job.id] = job
        self.peril.pass_by(f"after {step}")
        if step == NOTE:
            self.peril.pass_by(SENDING)

    def _step(self, job: WatchedJob) -> str:
        """Tell what a save writes down by what has changed since the last one."""
        before = self.peril.saved.get(job.id)
        if before is None:
            return OBSERVE
        if len(job.outbox) > len(before.outbox):
            return OWE
        if _attempts(job) > _attempts(before):
            return NOTE
        return TICK if _open_attempts(job) < _open_attempts(before) else OBSERVE


def _attempts(job: WatchedJob) -> int:
    return sum(entry.attempts for entry in job.outbox)


def _open_attempts(job: WatchedJob) -> int:
    return sum(1 for entry in job.outbox if entry.attempt_since_s is not None)
