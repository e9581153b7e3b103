"""The record of a diagnosis, as callers in Python get it. Later versions may add fields, and remove none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon.api.records import record_from

if TYPE_CHECKING:
    from jobmon_core.app.diagnose import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A line of a log."""

    file: str
    line: int | None  # from 1; None if the lines before it were not counted
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong with a running job now, or that nothing is known to be wrong."""

    name: str  # of the verdict, e.g. ``hang``; ``healthy`` or ``not-known`` if no problem is known
    title: str
    text: str
    is_critical: bool
    since_s: float
    evidence: tuple[str, ...] = ()
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a job failed, or what log files show."""

    cause: str | None  # the id of the pattern or cause; None if nothing failed or the cause is unknown
    label: str | None  # the kind of failure, see `jobmon patterns`
    title: str
    headline: str  # what happened, as precisely as it is known, e.g. ``KeyError: 'lr'``
    explanation: str
    advice: str
    confidence: float  # 0 to 1
    is_proved: bool  # whether the evidence proves the cause; else it is the end of the log
    evidence: tuple[Evidence, ...] = ()
    note: str = ""  # what made the analysis incomplete
    log: str = ""  # the log to read first
    fingerprint: str = ""  # equal for the same failure of other jobs
    job_id: str = ""  # empty for files
    problems: tuple[Problem, ...] = ()  # of a job that is running, the worst first
    unread: tuple[str, ...] = ()  # files that could not be read, with the reason


def explanation_of(report: Report) -> Explanation:
    """Return the record of a diagnosis."""
    found, live = report.diagnosis, report.live
    return record_from(
        Explanation,
        found,
        evidence=tuple(Evidence(file=each.file, line=each.number, text=each.text) for each in found.evidence),
        log=found.log_path,
        job_id=str(report.subject.ref) if report.subject else "",
        problems=tuple(record_from(Problem, each) for each in (live.findings if live else ())),
        unread=report.unread,
    )
