"""Known failures as rules, and what was found of them in a log."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a matching line can be: the cause, a consequence of it, or mere context."""

    ROOT = "root"
    SYMPTOM = "symptom"
    CONTEXT = "context"


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Rule:
    """One known failure: how its line looks, what it means and what to do."""

    id: str  # the class of the failure, or class.variant where a variant deserves its own words
    title: str
    severity: Severity
    role: Role
    regex: str
    cause: str
    advice: str
    precedence: int  # among roots of one log the highest wins, then the earliest line
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...]

    @property
    def failure_class(self) -> str:
        """The class of the failure: the id up to its first dot."""
        return self.id.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log, as it was printed."""

    file: str
    number: int | None  # from 1; None where the head of a long file was not read
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that matched, and where."""

    rule: Rule
    line: Line
    position: int  # index among the lines that were read: the order of events
