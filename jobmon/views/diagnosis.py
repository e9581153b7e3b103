"""A diagnosis as text for a person and as JSON for a program."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from jobmon.views.console import Style, one_line
from jobmon.views.live_verdict import live_json, live_lines, stack_lines, stacks_json
from jobmon_core.app.jobs.ending import end_text
from jobmon_core.domain.diagnosis.exit_causes import CANCELLED
from jobmon_core.domain.diagnosis.patterns import CLEAN, JOB_PATTERN, is_job_pattern
from jobmon_core.domain.slurm.states import JobState, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jobmon.views.console import Console
    from jobmon_core.app.diagnose import Report, Subject
    from jobmon_core.app.records.note import KnownFailure
    from jobmon_core.domain.diagnosis.model import Diagnosis, Line

_INDENT = "  "
_MAX_OTHERS = 3  # causes of other tasks
_DOUBTFUL_BELOW = 0.7  # a lower confidence is shown
_ENDINGS = {
    Outcome.SUCCESS: "completed",
    Outcome.FAILURE: "failed",
    Outcome.CANCELLED: "cancelled",
    Outcome.UNKNOWN: "of unknown outcome",
    None: "not ended",
}


def report_json(report: Report) -> dict[str, Any]:
    """Return the documented object of ``jobmon diagnose --json``."""
    diagnosis = report.diagnosis
    return {
        "cause": diagnosis.cause,
        "label": diagnosis.label,
        "title": diagnosis.title,
        "headline": diagnosis.headline,
        "confidence": diagnosis.confidence,
        "advice": diagnosis.advice,
        "evidence": evidence_json(diagnosis),
        "symptoms": list(diagnosis.symptoms),
        "fingerprint": diagnosis.fingerprint,
        "explanation": diagnosis.explanation,
        "note": diagnosis.note,
        "job_id": str(report.subject.ref) if report.subject else None,
        "live": live_json(report.live, report.subject) if report.live and report.subject else None,
        "changes": diagnosis.changes,
        "known_failure": known_json(report.known),
        **({"stacks": stacks_json(report.stacks)} if report.stacks else {}),
    }


def evidence_json(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """Return the log lines of a diagnosis."""
    return [{"file": line.file, "line": line.number, "text": line.text} for line in diagnosis.evidence]


def report_lines(report: Report, titles: Mapping[str, str], console: Console) -> Iterator[str]:
    """Yield the lines of a diagnosis, the most important first; ``titles`` maps pattern ids to titles."""
    diagnosis = report.diagnosis
    if report.live and report.subject:
        yield from live_lines(report.live, _heading(report.subject, diagnosis), report.subject, console)
        if report.stacks:
            yield from stack_lines(report.stacks, console)
        yield from ("", "Its log so far:")
    yield from (console.styled(line, Style.BOLD) for line in console.prose(diagnosis.headline))
    if report.subject and not report.live:
        yield from console.prose(_heading(report.subject, diagnosis))
    if explained := explanation(diagnosis):
        yield from console.prose(explained)
    if report.subject:
        yield from _others(report.subject, console)
    if diagnosis.evidence:
        yield from ("", "Proof:" if diagnosis.is_proved else "Last lines:")
        yield from _evidence_lines(diagnosis, console)
    if diagnosis.advice:
        yield from ("", "What to do:", *console.advice(diagnosis.advice, _INDENT))
    yield from _details(report, titles, console)


def _evidence_lines(diagnosis: Diagnosis, console: Console) -> Iterator[str]:
    """Yield the lines of the evidence below the paths of their files, which are never broken."""
    for path, lines in groupby(diagnosis.evidence, lambda line: line.file):
        yield f"{_INDENT}{one_line(path)}"
        for line in lines:
            yield from console.prose(numbered(line), _INDENT * 2, _INDENT * 3)


def numbered(line: Line) -> str:
    """Return a log line after its number, if that is known."""
    return f"{line.number}: {line.text}" if line.number else line.text


def explanation(diagnosis: Diagnosis) -> str:
    """Return what the headline lacks: the class of the failure, the reasons, a confidence below 70%."""
    title = f"{diagnosis.title}." if diagnosis.what_failed and diagnosis.title else ""
    doubt = f"Not certain ({_percent(diagnosis)})." if 0 < diagnosis.confidence < _DOUBTFUL_BELOW else ""
    text = "" if diagnosis.label == CLEAN else diagnosis.explanation
    return " ".join(part for part in (title, text, doubt) if part)


def summary(diagnosis: Diagnosis) -> str:
    """Return a diagnosis in one line."""
    cause = f" ({diagnosis.cause})" if diagnosis.cause else ""
    return f"{diagnosis.title}{cause}" + (
        f", confidence {_percent(diagnosis)}" if _has_verdict(diagnosis) else ""
    )


def known_text(known: KnownFailure) -> str:
    """Return which earlier job failed in the same way, and the latest note about it."""
    return f"job {known.ref} failed in the same way; your note: {known.note.text}"


def known_json(known: KnownFailure | None) -> dict[str, Any] | None:
    """Return an earlier failure of the same kind for a program."""
    return {"job_id": str(known.ref), "at": known.note.at_s, "note": known.note.text} if known else None


def _details(report: Report, titles: Mapping[str, str], console: Console) -> Iterator[str]:
    """Yield the closing lines, after an empty one: changes, a known failure, other matches, log, note."""
    diagnosis = report.diagnosis
    symptoms = [each for each in diagnosis.symptoms if not is_job_pattern(each)]
    others = [f"{titles[each]} ({each})" if each in titles else each for each in symptoms]
    others += [title for title in diagnosis.also_seen if title.startswith(JOB_PATTERN)]
    is_shown = any(line.file == diagnosis.log_path for line in diagnosis.evidence)
    pairs = [
        ("Changed", diagnosis.changes),
        ("Known", known_text(report.known) if report.known else ""),
        ("Also seen", ", ".join(others)),
        ("Log", diagnosis.log_path if report.subject and not is_shown else ""),
        ("Note", diagnosis.note),
    ]
    lines = [line for name, value in pairs if value for line in console.prose(f"{name}: {value}")]
    if lines:
        yield ""
    yield from lines


def _has_verdict(diagnosis: Diagnosis) -> bool:
    """Whether the diagnosis names a cause, or says that the log is clean."""
    return diagnosis.cause is not None or diagnosis.label == CLEAN


def _percent(diagnosis: Diagnosis) -> str:
    return f"{diagnosis.confidence * 100:.0f} %"


def _heading(subject: Subject, diagnosis: Diagnosis) -> str:
    """Return the job or task, its final or current state, and how many tasks have the same outcome."""
    name = f"Job {subject.ref} {subject.name}".rstrip()
    outcome = subject.task.end.outcome if subject.task.end else None
    share = (
        f"; {subject.same_outcome} of {subject.total} tasks {_ENDINGS[outcome]}" if subject.total > 1 else ""
    )
    same = f", tasks {subject.same_cause} with this cause" if subject.same_cause else ""
    return f"{name}: {_ending(subject, diagnosis)}{share}{same}"


def _others(subject: Subject, console: Console) -> Iterator[str]:
    """Yield what happened to other tasks of the job, if that differs."""
    shown, hidden = subject.other_causes[:_MAX_OTHERS], len(subject.other_causes) - _MAX_OTHERS
    if shown:
        more = f"; and {hidden} more" if hidden > 0 else ""
        yield from console.prose(
            f"Tasks with another cause: {'; '.join(shown)}{more}. "
            f"`jobmon show {subject.ref.job_id}` shows them."
        )


def _ending(subject: Subject, diagnosis: Diagnosis) -> str:
    if subject.end is None:
        return subject.task.raw_state or JobState.UNKNOWN
    if diagnosis.cause == CANCELLED:
        return subject.end.state  # the headline names who cancelled
    return end_text(subject.end)
