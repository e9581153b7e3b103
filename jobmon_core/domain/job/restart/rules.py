"""The rules that say what follows an end: the first one that fits decides; and what they know of an end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from jobmon_core.domain.job.job_settings import RestartSettings
from jobmon_core.domain.job.restart.model import Verdict
from jobmon_core.domain.logs.diagnosis.patterns import label_of
from jobmon_core.domain.slurm.states import JobState, Outcome


class Resource(StrEnum):
    """What a request may get more of."""

    MEMORY = "memory"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class When:
    """The ends that a rule is for: all that is given here must hold."""

    states: tuple[JobState, ...] = ()  # one of these
    causes: tuple[str, ...] = ()  # one of these ids or labels; "" stands for an unknown cause
    all_of: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """What follows the ends of one kind."""

    id: str
    verdict: Verdict
    why: str  # a sentence for the user
    when: When = When()
    budget: str = ""  # what a restart is charged to; rules may share one
    max: int = 0  # restarts without progress in between, see `RestartSettings.budgets`
    grow: Resource | None = None  # what the next attempt requests more of, if the user allows that

    def fits(self, end: EndFacts, met: frozenset[Condition]) -> bool:
        """Whether the rule is for this end; ``met`` are those of `EndFacts.conditions`."""
        when = self.when
        return (
            (not when.states or end.state in when.states)
            and (not when.causes or not {end.cause, label_of(end.cause)}.isdisjoint(when.causes))
            and met.issuperset(when.all_of)
        )

    @property
    def needs_growth(self) -> bool:
        """Whether another attempt makes no sense with the same request."""
        return not {Condition.GROW_MEMORY, Condition.GROW_TIME}.isdisjoint(self.when.all_of)


def first_fit(rules: Iterable[Rule], end: EndFacts, met: frozenset[Condition]) -> Rule:
    """Return the first rule that is for this end; the last of the shipped table is for every end."""
    return next(rule for rule in rules if rule.fits(end, met))


class Condition(StrEnum):
    """What the rules can ask about an end, besides its state and its cause."""

    CANCELLED = "cancelled"  # by anybody, in any way
    STALL_CANCELLED = "stall_cancelled"  # by jobmon, because it stalled and the user ordered that
    DRILL = "drill"  # by jobmon, because the user tries out a restart
    SUCCESS = "success"
    UNKNOWN_OUTCOME = "unknown_outcome"
    DOUBTFUL = "doubtful"  # a success that something speaks against
    BELOW_TOTAL = "below_total"  # it did less than there is to do
    TOTAL_UNKNOWN = "total_unknown"  # nothing says how much there is to do
    SAVED_ON_SIGNAL = "saved_on_signal"
    PROVED = "proved"  # the log or the scheduler proves the cause
    NEW_CHECKPOINT = "new_checkpoint"  # it saved a complete checkpoint, later than the one it began with
    AGAIN_ON_EXIT = "again_on_exit"  # its exit code is one for which the user wants another attempt
    NEVER_ON_EXIT = "never_on_exit"
    GROW_MEMORY = "grow_memory"  # the user allows to request more memory
    GROW_TIME = "grow_time"


@dataclass(frozen=True, slots=True)
class Requested:
    """What an attempt had requested, and how much its partition gives. None: not known, or no limit."""

    memory_option: str = "--mem"  # sbatch refuses two options for memory, in the script or not
    memory_bytes: int | None = None  # as this option counts it: of each node, CPU or GPU
    max_memory_bytes: int | None = None  # likewise
    limit_s: int | None = None
    max_limit_s: int | None = None
    excluded: str = ""  # the nodes that the user excludes, as in ``--exclude``


@dataclass(frozen=True, slots=True)
class EndFacts:
    """The end of an attempt. None and "" mean "not known"; times are Unix seconds."""

    state: JobState
    outcome: Outcome
    exit_code: int | None = None
    cause: str = ""  # its id, see `Diagnosis.cause`
    is_proved: bool = False  # whether evidence proves the cause
    doubt: str = ""  # what speaks against a success; empty if nothing does
    was_cancelled: bool = False  # by anybody
    stall_cancelled: bool = False  # by jobmon, because it stalled and the user ordered that
    reached: float | None = None  # units of work, of `total`
    total: float | None = None
    counts_steps: bool = False  # whether these units are the steps of checkpoints
    saved_on_signal: bool = False
    other_owner: str = ""  # who else starts it again, e.g. ``Lightning``; empty if nobody does
    proof: str = ""  # what proves that no process of it is left; empty if nothing does
    how_to_prove: str = ""  # the command that would prove it
    started_s: float | None = None
    ended_s: float | None = None
    failed_node: str = ""  # the only node that the evidence blames
    nodes_seen: int | None = None  # how many nodes it could have run on
    requested: Requested = Requested()

    def conditions(self, settings: RestartSettings, *, has_new_checkpoint: bool) -> frozenset[Condition]:
        """Return what is true of this end."""
        known = {
            Condition.CANCELLED: self.was_cancelled or self.outcome is Outcome.CANCELLED,
            Condition.STALL_CANCELLED: self.stall_cancelled and settings.stall_is_failure_s is not None,
            Condition.SUCCESS: self.outcome is Outcome.SUCCESS,
            Condition.UNKNOWN_OUTCOME: self.outcome is Outcome.UNKNOWN or self.state.is_alive,
            Condition.DOUBTFUL: bool(self.doubt),
            Condition.BELOW_TOTAL: None not in (self.reached, self.total)
            and (self.reached or 0) < (self.total or 0),
            Condition.TOTAL_UNKNOWN: self.total is None,
            Condition.SAVED_ON_SIGNAL: self.saved_on_signal,
            Condition.PROVED: self.is_proved,
            Condition.NEW_CHECKPOINT: has_new_checkpoint,
            Condition.AGAIN_ON_EXIT: bool(self.exit_code) and self.exit_code in settings.again_on_exit,
            Condition.NEVER_ON_EXIT: bool(self.exit_code) and self.exit_code in settings.never_on_exit,
            Condition.GROW_MEMORY: settings.grow_memory > 1,
            Condition.GROW_TIME: settings.grow_time > 1,
        }
        return frozenset(condition for condition, is_met in known.items() if is_met)
