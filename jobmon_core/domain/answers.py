"""The kinds of answers that a scheduler gives, which can't be mistaken for each other.

Silence is no answer: `Unreachable` changes nothing but how old our knowledge is.
"""

from __future__ import annotations

from dataclasses import dataclass

NO_HURRY_S = float("inf")  # how long an answer may take that nothing waits for


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The scheduler did not answer, or not intelligibly. Nothing follows from it."""

    why: str


@dataclass(frozen=True, slots=True)
class NotListed:
    """The scheduler answered, and the job was not there."""


@dataclass(frozen=True, slots=True)
class Disabled:
    """This cluster keeps no accounting: there is no such witness."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The scheduler's own words, not yet read; many monitors share one."""

    text: str
    asked_s: float  # when the question was put: what the reply can know
