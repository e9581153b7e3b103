"""A diagnosis as a person reads it, and as a program does. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon_core.domain.diagnosis.patterns import CLEAN
from jobmon_core.domain.slurm.exit_codes import describe_exit
from jobmon_core.domain.slurm.states import JobState, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jobmon.views.console import Console
    from jobmon_core.app.diagnose import Report, Subject
    from jobmon_core.domain.diagnosis.log_lines import Line
    from jobmon_core.domain.diagnosis.model import Diagnosis
    from jobmon_core.domain.tracking.model import End, Task

_INDENT = "  "
_COUNTED = {
    Outcome.SUCCESS: "completed",
    Outcome.FAILURE: "failed",
    Outcome.CANCELLED: "cancelled",
    Outcome.UNKNOWN: "of unknown outcome",
    None: "running",
}


def report_json(report: Report) -> dict[str, Any]:
    """Return the documented object of ``jobmon diagnose --json``."""
    found = report.diagnosis
    return {
        "cause": found.cause,
        "label": found.label,
        "title": found.title,
        "confidence": found.confidence,
        "advice": found.advice,
        "evidence": [{"file": x.file, "line": x.number, "text": x.text} for x in found.evidence],
        "symptoms": list(found.symptoms),
        "fingerprint": found.fingerprint,
        "explanation": found.explanation,
        "note": found.note,
        "job_id": str(report.subject.ref) if report.subject else None,
    }


def report_lines(report: Report, titles: Mapping[str, str], sheet: Console) -> Iterator[str]:
    """Draw a diagnosis, what is most urgent first; ``titles`` name the rules that matched too."""
    found = report.diagnosis
    yield sheet.bold(found.title)
    if report.subject:
        yield from sheet.prose(_heading(report.subject))
    yield from sheet.prose(found.explanation)
    if found.evidence:
        yield from ("", "Proof:" if found.is_proved else "Last lines:")
        yield from (sheet.line(f"{_INDENT}{_place(line, sheet)}{line.text}") for line in found.evidence)
    if found.advice:
        yield from ("", "What to do:", *sheet.prose(found.advice, _INDENT))
    yield from _rest(report, titles, sheet)


def verdict(found: Diagnosis) -> str:
    """Return a diagnosis in one line."""
    cause = f" ({found.cause})" if found.cause else ""
    return f"{found.title}{cause}" + (f", {_percent(found)} sure" if _is_certain(found) else "")


def _rest(report: Report, titles: Mapping[str, str], sheet: Console) -> Iterator[str]:
    """Draw what is worth a line at the end, behind an empty one."""
    found = report.diagnosis
    seen = ", ".join(f"{titles[each]} ({each})" if each in titles else each for each in found.symptoms)
    pairs = [
        ("Also seen", seen),
        ("Log", found.log_path if report.subject else ""),
        ("Note", found.note),
    ]
    lines = [line for name, value in pairs if value for line in sheet.prose(f"{name}: {value}")]
    trust = _trust(found)
    if lines or trust:
        yield ""
    yield from lines
    if trust:
        yield sheet.dim(trust)


def _trust(found: Diagnosis) -> str:
    """Say how sure the diagnosis is, and by what the same failure is found again."""
    sure = f"Confidence: {_percent(found)}" if _is_certain(found) else ""
    again = f"fingerprint {found.fingerprint}" if found.fingerprint else ""
    return ", ".join(part for part in (sure, again) if part)


def _is_certain(found: Diagnosis) -> bool:
    """Whether anything is claimed."""
    return found.cause is not None or found.label == CLEAN


def _percent(found: Diagnosis) -> str:
    return f"{found.confidence * 100:.0f} %"


def _place(line: Line, sheet: Console) -> str:
    """Return where a line is, as grep writes it."""
    return f"{sheet.path(line.file)}:{line.number}: " if line.number else f"{sheet.path(line.file)}: "


def _heading(subject: Subject) -> str:
    """Say which part of which job this is, and how Slurm puts its end."""
    name = f"Job {subject.ref} {subject.name}".rstrip()
    outcome = subject.task.end.outcome if subject.task.end else None
    among = (
        f"; {subject.same_outcome} of {subject.total} parts {_COUNTED[outcome]}" if subject.total > 1 else ""
    )
    return f"{name}: {_ending(subject.task, subject.end)}{among}"


def _ending(task: Task, end: End | None) -> str:
    if end is None:
        return task.raw_state or JobState.UNKNOWN
    state = end.raw_state or end.state
    words = describe_exit(end.exit_code, end.signal)
    if end.signal:
        return f"{state}, {words}"
    # a time limit and a cancellation have an exit code of 0, which would only puzzle
    return f"{state}, exit code {words}" if end.exit_code or end.state is JobState.COMPLETED else state
