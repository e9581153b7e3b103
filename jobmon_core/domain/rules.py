"""Known failures as rules, and what was found of them in a log."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from jobmon_core.domain.labels import label_of


class Role(StrEnum):
    """What a matching line can be."""

    ROOT = "root"  # the cause
    SYMPTOM = "symptom"  # a consequence of the cause, such as a launcher that reports it
    CONTEXT = "context"  # neither, whatever it says: advice, noise
    SUCCESS = "success"  # proof that the program went on after what it met before


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Rule:
    """One known failure: how its line looks, what it means and what to do."""

    id: str  # a label, or label.variant where a variant deserves its own words
    title: str
    severity: Severity
    role: Role
    regex: tuple[str, ...]  # alternatives, in the syntax of RE2
    cause: str
    advice: str
    precedence: int  # among roots of one log the highest wins, then the earliest line
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]

    @property
    def label(self) -> str:
        """The class of failures that this rule belongs to."""
        return label_of(self.id)


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that matched, and where."""

    rule: Rule
    position: int  # index among the lines that were read: the order of events
