"""A diagnosis, what is wrong with a running job, notes and failure patterns: as text and as JSON."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from jobmon.views.model import evidence_json, fields, stamp
from jobmon_core.app.jobs.overview import end_text
from jobmon_core.domain.humanize import count, listed
from jobmon_core.domain.logs.diagnosis.exit_causes import CANCELLED
from jobmon_core.domain.logs.diagnosis.patterns import CLEAN, JOB_PATTERN, is_job_pattern
from jobmon_core.domain.logs.diagnosis.ray_log import is_repeated
from jobmon_core.domain.node.triage.stacks import compare
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon.views.console import Console, Lines, Rows
    from jobmon.views.model import Json
    from jobmon_core.app.diagnose import Report, Subject
    from jobmon_core.app.live.verdict import LiveVerdict
    from jobmon_core.app.patterns import EffectivePattern, Hit, PatternTestResult
    from jobmon_core.app.records.note import JobMemory, KnownFailure
    from jobmon_core.domain.job.notes import Note
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis, Line
    from jobmon_core.domain.logs.diagnosis.patterns import Pattern
    from jobmon_core.domain.logs.progress.events.event import Event
    from jobmon_core.domain.node.triage.stacks import Stacks


_INDENT = "  "
_MAX_FRAMES = 12  # of one process
_MAX_OTHERS = 3  # causes of other tasks
_DOUBTFUL_BELOW = 0.7  # a lower confidence is shown
_ENDINGS = {
    Outcome.SUCCESS: "completed",
    Outcome.FAILURE: "failed",
    Outcome.CANCELLED: "cancelled",
    Outcome.UNKNOWN: "of unknown outcome",
    None: "not ended",
}


def report_json(report: Report) -> Json:
    """Return the documented object of ``jobmon diagnose --json``."""
    diagnosis = report.diagnosis
    return {
        **fields(diagnosis, "cause", "label", "title", "headline", "confidence", "advice"),
        "evidence": evidence_json(diagnosis),
        **fields(diagnosis, "symptoms", "fingerprint", "explanation", "note"),
        "job_id": str(report.subject.ref) if report.subject else None,
        "live": _live_json(report.live, report.subject) if report.live and report.subject else None,
        **fields(diagnosis, "changes"),
        "known_failure": _known_json(report.known),
        **({"stacks": _stacks_json(report.stacks)} if report.stacks else {}),
    }


def report_lines(report: Report, titles: Mapping[str, str], console: Console) -> Lines:
    """Yield the lines of a diagnosis, the most important first; ``titles`` are those of patterns, by id."""
    diagnosis = report.diagnosis
    if report.live and report.subject:
        yield from _live_lines(report.live, _heading(report.subject, diagnosis), report.subject, console)
        if report.stacks:
            yield from _stack_lines(report.stacks, console)
        yield from ("", "Its log so far:")
    yield from console.heading(diagnosis.headline)
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


def _evidence_lines(diagnosis: Diagnosis, console: Console) -> Lines:
    for path, lines in groupby(diagnosis.evidence, lambda line: line.file):
        yield f"{_INDENT}{one_line(path)}"
        for line in lines:
            yield from console.prose(numbered(line), _INDENT * 2, _INDENT * 3)


def numbered(line: Line) -> str:
    """Return a log line after its number."""
    if line.number:
        return f"{line.number}: {line.text}"
    return line.text


def explanation(diagnosis: Diagnosis) -> str:
    """Return what the headline lacks: the class of the failure, the reasons, a low confidence."""
    parts = []
    if diagnosis.what_failed and diagnosis.title:
        parts.append(f"{diagnosis.title}.")
    if diagnosis.explanation and diagnosis.label != CLEAN:
        parts.append(diagnosis.explanation)
    if 0 < diagnosis.confidence < _DOUBTFUL_BELOW:
        parts.append(f"Not certain ({_percent(diagnosis)}).")
    return " ".join(parts)


def summary(diagnosis: Diagnosis) -> str:
    """Return a diagnosis in one line."""
    text = diagnosis.title
    if diagnosis.cause:
        text += f" ({diagnosis.cause})"
    if diagnosis.cause is not None or diagnosis.label == CLEAN:
        text += f", confidence {_percent(diagnosis)}"
    return text


def _known_text(known: KnownFailure) -> str:
    return f"job {known.ref} failed in the same way; your note: {known.note.text}"


def _known_json(known: KnownFailure | None) -> Json | None:
    if known:
        return {"job_id": str(known.ref), "at": known.note.at_s, "note": known.note.text}
    return None


def findings_rows(memory: JobMemory) -> Rows:
    """Yield names and values for ``jobmon show``."""
    if memory.changes:
        yield "changed", memory.changes
    if memory.known:
        yield "known", _known_text(memory.known)
    yield from (("your note", note_text(note)) for note in memory.notes)


def note_text(note: Note) -> str:
    """Return a note after its time."""
    return f"{stamp(note.at_s, '%Y-%m-%d %H:%M')}: {note.text}"


def findings_json(memory: JobMemory) -> Json:
    """Return the keys that ``jobmon show --json`` adds."""
    own = {"user_notes": notes_json(memory.notes), "known_failure": _known_json(memory.known)}
    return own | fields(memory, "changes")


def notes_json(notes: tuple[Note, ...]) -> list[Json]:
    """Return notes for a program."""
    return [fields(note, "text", at="at_s") for note in notes]


def _details(report: Report, titles: Mapping[str, str], console: Console) -> Lines:
    diagnosis = report.diagnosis
    symptoms = [each for each in diagnosis.symptoms if not is_job_pattern(each)]
    others = [f"{titles[each]} ({each})" if each in titles else each for each in symptoms]
    others += [title for title in diagnosis.also_seen if title.startswith(JOB_PATTERN)]
    is_shown = any(line.file == diagnosis.log_path for line in diagnosis.evidence)
    pairs = [
        ("Changed", diagnosis.changes),
        ("Known", _known_text(report.known) if report.known else ""),
        ("Also seen", ", ".join(others)),
        ("Log", diagnosis.log_path if report.subject and not is_shown else ""),
        ("Note", diagnosis.note),
    ]
    if lines := [line for name, value in pairs if value for line in console.prose(f"{name}: {value}")]:
        yield from ("", *lines)


def _percent(diagnosis: Diagnosis) -> str:
    return f"{diagnosis.confidence * 100:.0f}%"


def _heading(subject: Subject, diagnosis: Diagnosis) -> str:
    text = f"{f'Job {subject.ref} {subject.name}'.rstrip()}: {_ending(subject, diagnosis)}"
    end = subject.task.end
    if subject.total > 1:
        ending = _ENDINGS[end.outcome if end else None]
        text += f"; {subject.same_outcome} of {subject.total} tasks {ending}"
    if subject.same_cause:
        text += f", tasks {subject.same_cause} with this cause"
    return text


def _others(subject: Subject, console: Console) -> Lines:
    if causes := listed(subject.other_causes, _MAX_OTHERS, "; "):
        command = f"`jobmon show {subject.ref.job_id}`"
        yield from console.prose(f"Tasks with another cause: {causes}. {command} shows them.")


def _ending(subject: Subject, diagnosis: Diagnosis) -> str:
    if subject.end is None:
        return subject.task.raw_state or JobState.UNKNOWN
    if diagnosis.cause == CANCELLED:
        return subject.end.state  # the headline names who cancelled
    return end_text(subject.end)


def _live_json(live: LiveVerdict, subject: Subject) -> Json:
    return {
        **_verdict_json(live.findings[0], subject),
        "others": [_verdict_json(verdict, subject) for verdict in live.findings[1:]],
        "unseen": list(live.unseen),
    }


def _verdict_json(verdict: Event, subject: Subject) -> Json:
    return {
        **fields(verdict, "title", "text", "evidence", verdict="name", critical="is_critical"),
        "since": int(verdict.since_s),
        "advice": _advice(verdict, subject),
    }


def _live_lines(live: LiveVerdict, heading: str, subject: Subject, console: Console) -> Lines:
    verdict, *further = live.findings
    yield from console.heading(verdict.title)
    yield from console.prose(f"{heading}; {verdict.text}")
    if verdict.evidence:
        yield from ("", "Signs:")
        for line in verdict.evidence:
            yield from console.prose(line, _INDENT, _INDENT * 2)
    if verdict.advice:
        yield from ("", "What to do:", *console.advice(_advice(verdict, subject), _INDENT))
    lines = [f"Also: {other.title.lower()} ({other.text})" for other in further]
    if live.unseen:
        lines.append(f"Not seen: {'; '.join(live.unseen)}")
    if lines:
        yield ""
    for line in lines:
        yield from console.prose(line)


def _advice(verdict: Event, subject: Subject) -> str:
    return verdict.advice.replace("JOBID", str(subject.ref))


def _stacks_json(report: Stacks) -> Json:
    text, odd = compare(report.stacks)
    return {
        "text": text,
        "odd": odd,
        "processes": [fields(each, "node", "pid", "rank", "frames") for each in report.stacks],
        **fields(report, "dumps", "problems"),
    }


def _stack_lines(report: Stacks, console: Console) -> Lines:
    yield from ("", "Stacks:")
    text, _ = compare(report.stacks)
    if text:
        yield from console.prose(text, _INDENT, _INDENT * 2)
    groups: dict[tuple[str, ...], list[str]] = {}
    for stack in report.stacks:
        if stack.frames:
            groups.setdefault(stack.frames, []).append(f"{stack.name} on {stack.node} (PID {stack.pid})")
    for frames, names in groups.items():
        yield from console.prose(f"{', '.join(names)}:", _INDENT, _INDENT * 2)
        yield from (f"{_INDENT * 2}{one_line(frame)}" for frame in frames[:_MAX_FRAMES])
        if len(frames) > _MAX_FRAMES:
            yield f"{_INDENT * 2}... and {len(frames) - _MAX_FRAMES} more"
    for dump in report.dumps:
        yield f"{_INDENT}Flight recorder: {one_line(dump)}"
    for problem in report.problems:
        yield from console.prose(problem, _INDENT, _INDENT * 2)


_BELOW = "    "
_KEYS = ("id", "label", "role", "severity", "precedence", "title", "cause", "advice")


def patterns_json(entries: Sequence[EffectivePattern]) -> list[Json]:
    """Return the list that ``jobmon patterns list --json`` prints."""
    return [
        {**fields(entry.pattern, *_KEYS), "source": "own" if entry.is_own else "shipped"} for entry in entries
    ]


def pattern_lines(entries: Sequence[EffectivePattern], console: Console) -> Lines:
    """Yield the patterns in the order in which they are tried."""
    for number, entry in enumerate(entries):
        if number:
            yield ""
        pattern = entry.pattern
        yield console.bold(f"{_id_and_role(pattern)}: {pattern.title}{_source(entry)}")
        yield from console.prose(pattern.cause, _BELOW)
        yield from console.prose(f"What to do: {pattern.advice}", _BELOW)


def check_lines(path: str, patterns: int, faults: Sequence[str]) -> Lines:
    """Yield a line for each fault of a pattern file, or one that says it has none."""
    if not faults:
        yield one_line(f"{path}: {count(patterns, 'pattern')}, no faults")
    for fault in faults:
        yield one_line(f"{path}: {fault}")


def test_lines(result: PatternTestResult, console: Console) -> Lines:
    """Yield each matched line of the log with its patterns, then the diagnosis."""
    for hit in result.hits:
        yield from _hit_lines(hit, console)
    if not result.hits:
        yield "no pattern matches any line"
    if not result.complete:
        yield "patterns were tested on the last 16 MiB of the log only"
    yield from console.prose(f"diagnosis: {summary(result.diagnosis)}")


def _hit_lines(hit: Hit, console: Console) -> Lines:
    number = "?" if hit.line.number is None else str(hit.line.number)
    yield console.line(f"{number}: {hit.line.text}")
    first, *others = hit.patterns
    yield console.line(f"{_BELOW}{_id_and_role(first)} {_effect(hit)}")
    for other in others:
        yield console.line(f"{_BELOW}{_id_and_role(other)} also matches")


def _effect(hit: Hit) -> str:
    if hit.is_counted:
        return "is used"
    if is_repeated(hit.line.text):
        return "matched an earlier line, which Ray repeats here, and is ignored"
    return "matches code quoted in a traceback and is ignored"


def _id_and_role(pattern: Pattern) -> str:
    return f"{pattern.id} ({pattern.role})"


def _source(entry: EffectivePattern) -> str:
    if not entry.is_own:
        return ""
    if entry.replaces:
        return " [yours, replaces the shipped pattern]"
    return " [yours]"
