"""A lineage, its attempts and the decision after the end of each.

Times are Unix seconds. None means "not known", or "not yet".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from jobmon_core.domain.job.job_settings import AttemptPlace, RestartSettings
from jobmon_core.domain.slurm.rows import Unreachable

_NOTHING = RestartSettings()
BY_HAND = "by_hand"  # the rule of a decision that the user made
LINEAGE_VARIABLE = "JOBMON_LINEAGE"  # in the environment of all processes of a lineage
_MAX_NAMED = 8


class Verdict(StrEnum):
    """What follows an end."""

    FINISHED = "finished"  # the work is done
    RESTART = "restart"
    STOP = "stop"  # never again without the user
    ASK = "ask"  # the user must decide


@dataclass(frozen=True, slots=True)
class PickedCheckpoint:
    """The checkpoint to resume from, as it was when it was picked."""

    path: str  # absolute
    step: int | None = None
    saved_s: float = 0.0
    device: int = 0  # with the inode: to notice that another folder or file has its name now
    inode: int = 0

    @property
    def identity(self) -> tuple[object, ...]:
        """What changes when another folder or file takes its place, or when it is saved again."""
        return self.path, self.saved_s, self.device, self.inode


@dataclass(frozen=True, slots=True)
class Decision:
    """What follows the end of one attempt, and why. It is saved before anything is done."""

    verdict: Verdict
    rule: str  # the id of the rule that decided
    why: str  # one sentence for the user
    decided_s: float
    cause: str = ""  # of the end: the id of a pattern or of a cause of the scheduler
    budget: str = ""  # the name of the budget that a restart is charged to
    used: int = 0  # restarts charged to it since the last progress, this one included
    allowed: int = 0
    checkpoint: PickedCheckpoint | None = None  # None: from the start
    not_before_s: float = 0.0  # when the next attempt may be submitted
    proof: str = ""  # what proves that the attempt is dead
    options: tuple[str, ...] = ()  # further options of the submission, e.g. ``--exclude=n17``
    is_observed: bool = False  # nothing is done: the user only wants to know


@dataclass(frozen=True, slots=True)
class Attempt:
    """One submission of a lineage."""

    number: int  # from 0
    state_id: str  # of its state file
    job: str  # as users name it, e.g. ``8123``
    backend: str
    cluster: str = ""
    submitted_s: float = 0.0
    resume: PickedCheckpoint | None = None  # what it resumes from; None: it starts from scratch
    first_step: int | None = None  # the first that its log showed
    last_step: int | None = None
    started_s: int | None = None
    ended_s: int | None = None
    stopped_for_stall_s: float | None = None  # when jobmon ordered that; saved before the order
    decision: Decision | None = None  # after its end


@dataclass(frozen=True, slots=True)
class Submitting:
    """A submission that has started, saved before sbatch runs: there may be a job."""

    number: int  # of the attempt
    since_s: float
    session: int  # of the process that submits: Slurm records it with the job
    host: str


@dataclass(frozen=True, slots=True)
class SubmissionResult:
    """What came of the order to submit the next attempt: a job, a later try, or neither."""

    job: str = ""  # as users name it
    retry_s: float | None = None  # when to try again
    why: str = ""  # why not; empty with a job
    decision: Decision | None = None  # in place of the one that ordered it, which cannot be followed


@dataclass(frozen=True, slots=True)
class Lineage:
    """One piece of work: its attempts, and what the user asked for."""

    id: str = ""
    created_s: float = 0.0
    settings: RestartSettings = _NOTHING
    attempts: tuple[Attempt, ...] = ()  # by number
    submitting: Submitting | None = None
    is_held: bool = False  # `jobmon restart --hold`: a restart that is due waits
    ended_why: str = ""  # why there is no further attempt; empty while there may be one
    ended_s: float | None = None
    drill_s: float | None = None  # when the user had the first attempt cancelled to try out a restart

    def attempt(self, number: int) -> Attempt | None:
        """Return the attempt with this number."""
        return next((each for each in self.attempts if each.number == number), None)

    def with_attempt(self, attempt: Attempt) -> Lineage:
        """Return it with an attempt added or replaced."""
        others = [each for each in self.attempts if each.number != attempt.number]
        return replace(self, attempts=tuple(sorted((*others, attempt), key=lambda each: each.number)))

    def decided(self, attempt: Attempt, decision: Decision) -> Lineage:
        """Return it with the decision about an attempt; it has ended unless another may follow."""
        lineage = self.with_attempt(replace(attempt, decision=decision))
        if decision.verdict is Verdict.ASK or (
            decision.verdict is Verdict.RESTART and not decision.is_observed
        ):
            return lineage
        if lineage.ended_why and decision.verdict is Verdict.STOP:  # it names why no attempt could follow
            return lineage
        return replace(lineage, ended_why=decision.why, ended_s=decision.decided_s)

    def place(self, number: int, resume: PickedCheckpoint | None) -> AttemptPlace:
        """Return the place of an attempt; ``resume`` is what it resumes from."""
        return AttemptPlace(self.id, number, resume.path if resume else "", resume.step if resume else None)

    @property
    def decision(self) -> Decision | None:
        """What follows the end of the latest attempt."""
        if self.attempts:
            return self.attempts[-1].decision
        return None

    @property
    def newest(self) -> Attempt | None:
        """The latest attempt."""
        if self.attempts:
            return self.attempts[-1]
        return None


class ProcessesLeft(NamedTuple):
    """The processes of a lineage that still run on a machine."""

    pids: tuple[int, ...]
    kill: str  # the command that ends processes there, without their PIDs

    @property
    def end_command(self) -> str:
        """The command that ends them."""
        return " ".join((self.kill, *map(str, self.pids)))


def why_alive(left: ProcessesLeft | Unreachable | None) -> str:
    """Return why the next attempt must wait, as a clause; empty if no process of the lineage is left."""
    if left is None:
        return ""
    if isinstance(left, Unreachable):
        return f"it is not known whether a process of this job still runs: {left.why}"
    if not left.pids:
        return ""
    pids = ", ".join(map(str, left.pids[:_MAX_NAMED])) + (", ..." if len(left.pids) > _MAX_NAMED else "")
    which = f"process {pids} still runs" if len(left.pids) == 1 else f"processes {pids} still run"
    them = "them"
    if len(left.pids) == 1:
        them = "it"
    return f"{which}, started by this job; `{left.end_command}` ends {them}"
