"""Anything that jobmon noticed and may tell: a check, a verdict, a problem of a patrol or of the network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar


class Severity(IntEnum):
    """How bad a finding is; from `INFO` on, the exit code of a command that finds nothing worse."""

    UNKNOWN = -2  # it does not apply, or cannot be seen
    PENDING = -1  # it is too early to say
    INFO = 0  # in order, or only worth knowing
    WARNING = 1  # look at it
    CRITICAL = 2  # act now: the job failed, cannot work, or will probably fail

    @classmethod
    def _missing_(cls, value: object) -> Severity | None:
        return _FORMER.get(value)


# as progress files of earlier versions have them about a launch
_FORMER: dict[object, Severity] = {
    "passed": Severity.INFO,
    "warning": Severity.WARNING,
    "failed": Severity.CRITICAL,
    "not yet": Severity.PENDING,
    "checking": Severity.PENDING,
    "not known": Severity.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found."""

    severity: Severity = Severity.UNKNOWN
    text: str = ""  # one line
    advice: str = ""  # what to do about it
    evidence: tuple[str, ...] = ()  # the lines or figures that prove it
    id: str = ""  # for programs; it stays the same for ever
    title: str = ""  # in a few words, without details

    JSON_KEYS: ClassVar[dict[str, str]] = {"id": "name", "severity": "result", "evidence": "details"}

    @property
    def sentence(self) -> str:
        """The text after its title."""
        return f"{self.title}: {self.text}" if self.title else self.text


def passed(text: str, advice: str = "") -> Finding:
    """Return what is in order; ``advice`` is a hint."""
    return Finding(Severity.INFO, text, advice)


def warned(text: str, advice: str = "", evidence: tuple[str, ...] = ()) -> Finding:
    """Return what is probably wrong."""
    return Finding(Severity.WARNING, text, advice, evidence)


def failed(text: str, advice: str = "", evidence: tuple[str, ...] = ()) -> Finding:
    """Return that with which a job cannot work."""
    return Finding(Severity.CRITICAL, text, advice, evidence)


def pending(text: str, advice: str = "", evidence: tuple[str, ...] = ()) -> Finding:
    """Return what may yet come right."""
    return Finding(Severity.PENDING, text, advice, evidence)


def unknown(why: str, evidence: tuple[str, ...] = ()) -> Finding:
    """Return what does not concern a job, or what cannot be judged."""
    return Finding(text=why, evidence=evidence)


def worst(findings: Iterable[Finding]) -> Severity:
    """Return how bad the worst finding is, at least `Severity.INFO`."""
    return max([Severity.INFO, *(each.severity for each in findings)])
