"""The rules that say what follows an end: the first one that fits decides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from jobmon_core.domain.job.restart.end_facts import Condition, EndFacts
from jobmon_core.domain.job.restart.model import Verdict
from jobmon_core.domain.logs.diagnosis.patterns import label_of
from jobmon_core.domain.slurm.states import JobState


class Resource(StrEnum):
    """What a request may get more of."""

    MEMORY = "memory"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class When:
    """The ends that a rule is for: all that is given here must hold. Without any, it is for every end."""

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
        """Return whether the rule is for this end; ``met`` are those of `EndFacts.conditions`."""
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
    """Return the first rule that is for this end; the last rule of the shipped table is for every end.

    Raises:
        StopIteration: there is none.
    """
    return next(rule for rule in rules if rule.fits(end, met))
