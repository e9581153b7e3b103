"""From log lines and Slurm's evidence to a cause: the judge.

The rules of judging, in this order:

1. A job that completed has no cause; only warnings are listed.
2. One line belongs to one rule: the first in the rules' order that matches it. So wrappers and advice,
   which come first, can never be taken for a cause.
3. Slurm's plain verdict (out of memory, time limit, node failure, ...) is the cause, but for a time limit,
   a deadline or a cancellation that an earlier failure in the log explains: the job hung after it.
4. Else the root with the highest precedence, then the earliest, is the cause. Consequences, such as a
   collective operation that timed out, have a low precedence: any real failure beats them.
5. Else what the exit status implies. Else nothing is claimed, and the last lines are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobmon_core.domain.causes import Cause, implied_cause, stated_cause
from jobmon_core.domain.evidence import SlurmEvidence
from jobmon_core.domain.exits import describe_exit
from jobmon_core.domain.frames import user_frame
from jobmon_core.domain.rules import Finding, Line, Role, Rule, Severity
from jobmon_core.domain.states import JobState

__all__ = [
    "Diagnosis",
    "Finding",
    "Line",
    "Role",
    "Rule",
    "Severity",
    "SlurmEvidence",
    "diagnose",
    "find_root",
]

_LAST_LINES = 8  # shown where nothing is certain
_QUIET_LINES = 40  # more ordinary lines than this after a failure: the job survived it
# precedence from which on a root is a failure of its own; those below repeat what the scheduler did, or are
# often survived, such as a module that a script fails to load
SURE = 20
# ends that the scheduler brings about when a job does not end by itself, as after a failure that made it hang
_MAY_BE_EXPLAINED = (JobState.TIMEOUT, JobState.CANCELLED, JobState.DEADLINE)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What went wrong, with its proof. ``cause`` is None where nothing certain can be said."""

    cause: str | None  # the class of the failure
    title: str
    explanation: str
    advice: str
    evidence: tuple[Line, ...] = ()
    symptoms: tuple[str, ...] = ()  # classes of rules that matched but are not the cause
    log_path: str = ""  # the file to read on in
    note: str = ""  # what hindered the analysis, e.g. that no log was found


def diagnose(
    evidence: SlurmEvidence, findings: Iterable[Finding], lines: Sequence[Line] = (), *, note: str = ""
) -> Diagnosis:
    """Judge why a job ended as it did.

    Args:
        evidence: what Slurm knows.
        findings: all that matched in ``lines``, in the order of lines, then of rules.
        lines: the lines that were read, in order; findings refer to them by position.
        note: what hindered the analysis, passed on.
    """
    claimed = claim(findings)
    if evidence.state is JobState.COMPLETED:
        return _completed(claimed, note)
    root = find_root(claimed)
    stated = stated_cause(evidence)
    if stated is not None and not _explains(root, evidence, claimed, lines):
        return _from_cause(stated, claimed, lines, note)
    if root is not None:
        return _from_root(root, evidence, claimed, lines, note)
    implied = implied_cause(evidence)
    if implied is not None:
        return _from_cause(implied, claimed, lines, note)
    return _unexplained(evidence, claimed, lines, note)


def claim(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Keep for each line the first rule that matched it."""
    first: dict[int, Finding] = {}
    for finding in findings:
        first.setdefault(finding.position, finding)
    return tuple(first.values())


def find_root(claimed: Iterable[Finding]) -> Finding | None:
    """Return the best candidate for a cause: of the highest precedence, then the earliest."""
    roots = [f for f in claimed if f.rule.role is Role.ROOT and f.rule.severity is Severity.ERROR]
    return min(roots, key=lambda f: (-f.rule.precedence, f.position), default=None)


def _explains(
    root: Finding | None, evidence: SlurmEvidence, claimed: Sequence[Finding], lines: Sequence[Line]
) -> bool:
    """Tell whether the job met a failure and only then, without going on, its end by the scheduler."""
    if root is None or evidence.state not in _MAY_BE_EXPLAINED or root.rule.precedence < SURE:
        return False
    return _ordinary_lines_after(root, claimed, lines) <= _QUIET_LINES


def _ordinary_lines_after(root: Finding, claimed: Sequence[Finding], lines: Sequence[Line]) -> int:
    """Count the lines after ``root``, in its file, that are no part of a failure."""
    matched = {finding.position for finding in claimed if finding.rule.severity is Severity.ERROR}
    after = range(root.position + 1, len(lines))
    ordinary = (lines[i] for i in after if i not in matched and lines[i].file == root.line.file)
    return sum(1 for line in ordinary if line.text and not line.text[0].isspace())


def _completed(claimed: Sequence[Finding], note: str) -> Diagnosis:
    warnings = (finding.rule for finding in claimed if finding.rule.severity is Severity.WARNING)
    found = tuple(dict.fromkeys(rule.failure_class for rule in warnings))
    return Diagnosis(None, "Completed", "The job completed.", "", symptoms=found, note=note)


def _from_root(
    root: Finding, evidence: SlurmEvidence, claimed: Sequence[Finding], lines: Sequence[Line], note: str
) -> Diagnosis:
    rule = root.rule
    return Diagnosis(
        cause=rule.failure_class,
        title=rule.title,
        explanation=f"{rule.cause} {_ending(evidence)}".rstrip(),
        advice=rule.advice,
        evidence=(*_frame_of(root, lines), root.line),
        symptoms=_classes(claimed, but=rule.failure_class),
        log_path=root.line.file,
        note=note,
    )


def _frame_of(root: Finding, lines: Sequence[Line]) -> tuple[Line, ...]:
    return user_frame(lines, root.position) if root.position < len(lines) else ()


def _from_cause(cause: Cause, claimed: Sequence[Finding], lines: Sequence[Line], note: str) -> Diagnosis:
    """Report a cause that rests on Slurm, with the log's own line of it where there is one."""
    proof = tuple(f.line for f in claimed if f.rule.failure_class == cause.id)[:1]
    shown = proof or _last_lines(lines)
    return Diagnosis(
        cause=cause.id,
        title=cause.title,
        explanation=cause.explanation,
        advice=cause.advice,
        evidence=shown,
        symptoms=_classes(claimed, but=cause.id),
        log_path=shown[-1].file if shown else "",
        note=note,
    )


def _unexplained(
    evidence: SlurmEvidence, claimed: Sequence[Finding], lines: Sequence[Line], note: str
) -> Diagnosis:
    shown = _last_lines(lines)
    where = ", and there is no log to explain it" if not note else ""  # else the note says what is with it
    if shown:
        where = ", and nothing in the log explains it: its last lines follow"
    return Diagnosis(
        cause=None,
        title="Cause unknown",
        explanation=f"{_status(evidence)}{where}.",
        advice="Read the log from its end upwards." if shown else "",
        evidence=shown,
        symptoms=_classes(claimed),
        log_path=shown[-1].file if shown else "",
        note=note,
    )


def _status(evidence: SlurmEvidence) -> str:
    """Put what is known of the end into the beginning of a sentence."""
    state = (
        "How the job ended is not known"
        if evidence.state is JobState.UNKNOWN
        else f"Slurm says {evidence.state}"
    )
    if evidence.exit_code is None and not evidence.signal:
        return state
    words = describe_exit(evidence.exit_code, evidence.signal)
    exit_words = words if evidence.signal else f"exit code {words}"
    step = f", and a step of it exit code {evidence.derived_exit_code}" if evidence.derived_exit_code else ""
    return f"{state}, {exit_words}{step}"


def _ending(evidence: SlurmEvidence) -> str:
    """Say how the job went on after its failure until Slurm ended it."""
    return {
        JobState.TIMEOUT: "The job then hung until its time limit.",
        JobState.CANCELLED: "The job was cancelled after it.",
        JobState.DEADLINE: "The job then hung until its deadline.",
    }.get(evidence.state, "")


def _last_lines(lines: Sequence[Line]) -> tuple[Line, ...]:
    return tuple(line for line in lines if line.text.strip())[-_LAST_LINES:]


def _classes(findings: Iterable[Finding], but: str | None = None) -> tuple[str, ...]:
    """Name what else was found, once each, in the order of the log; mere context does not count."""
    rules = (finding.rule for finding in findings if finding.rule.role is not Role.CONTEXT)
    return tuple(dict.fromkeys(rule.failure_class for rule in rules if rule.failure_class != but))
