"""What went wrong with a job, as it is kept and told. The judge makes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log, as it was printed."""

    file: str
    number: int | None  # from 1; None where the head of a long file was not read
    text: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What went wrong, with its proof. ``cause`` is None where nothing went wrong or nothing is certain."""

    cause: str | None  # the id of the rule or cause
    title: str
    explanation: str
    advice: str
    evidence: tuple[Line, ...] = ()  # the lines that prove the cause; else the last ones of the log
    symptoms: tuple[str, ...] = ()  # ids of rules that matched but are not the cause
    log_path: str = ""  # the file to read on in
    note: str = ""  # what hindered the analysis, e.g. that no log was found
    label: str | None = None  # of jobmon_core.domain.labels; None where nothing is certain
    confidence: float = 0.0  # 0 to 1
    fingerprint: str = ""  # the same for the same failure elsewhere; empty without a cause
    is_proved: bool = False  # whether the evidence proves the cause
