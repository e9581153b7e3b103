"""Explain the end of a job: read its logs, match them, judge. Whatever a log holds, there is an answer."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from jobmon_core.domain.diagnosis.diagnose import diagnose, names_root_cause
from jobmon_core.domain.diagnosis.error_episodes import LogAnalysis
from jobmon_core.domain.diagnosis.log_lines import LogLines
from jobmon_core.domain.errors import PatternsInvalid
from jobmon_core.domain.redaction import redacted_lines
from jobmon_core.observe.logs.rank_logs import rank_logs, read_rank_log
from jobmon_core.observe.logs.read import LogPart, read_head, read_tail
from jobmon_core.observe.patterns.load import load_patterns
from jobmon_core.observe.patterns.match import Matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from jobmon_core.domain.diagnosis.log_lines import LogExcerpt
    from jobmon_core.domain.diagnosis.model import Diagnosis, SlurmEvidence
    from jobmon_core.domain.diagnosis.patterns import Pattern

_NAMELESS = "the path of the log is not known"


def explain(
    evidence: SlurmEvidence,
    stdout_path: str,
    stderr_path: str,
    user_patterns: Path | None = None,
    *,
    job_id: int | None = None,
) -> Diagnosis:
    """Say why a job ended as it did.

    stderr is read first, as failures are printed there. Where it names no failure but consequences or the
    scheduler's last words, the search goes on: in stdout, in the logs of single ranks, and at the beginning
    of the run, which the end of a long log no longer shows.

    Args:
        evidence: what Slurm knows of the run.
        stdout_path: the expanded path of its output; empty where nobody knows it.
        stderr_path: likewise; empty where stderr goes where stdout goes.
        user_patterns: the user's own pattern file; None where there is none. Where it has faults, the
            shipped rules are used and ``note`` says so.
        job_id: by which the logs of single ranks are known; None where nobody knows it.
    """
    case = _Case(evidence, user_patterns)
    main = dict.fromkeys((stderr_path or stdout_path, stdout_path or stderr_path))
    return case.conclude(
        *(lambda path=path: case.read_end(path) for path in main),
        lambda: case.read_ranks(tuple(main), job_id),
        case.read_heads,
    )


def explain_files(
    evidence: SlurmEvidence, paths: Sequence[str], user_patterns: Path | None = None
) -> Diagnosis:
    """Say what the logs at ``paths`` show, all of which are read, as ``explain`` does."""
    case = _Case(evidence, user_patterns)

    def read_ends() -> None:
        for path in reversed(paths):
            case.read_end(path)

    return case.conclude(read_ends, case.read_heads)


class _Case:
    """What was read so far, and what it shows."""

    def __init__(self, evidence: SlurmEvidence, user_patterns: Path | None) -> None:
        stamp_ns = user_patterns.stat().st_mtime_ns if user_patterns and user_patterns.exists() else 0
        self._matcher, self._fault = _prepared(user_patterns, stamp_ns)
        self._evidence = evidence
        self._parts: list[LogPart] = []  # in the order in which they are judged
        self._analysis = LogAnalysis((), LogLines(()))

    def conclude(self, *steps: Callable[[], None]) -> Diagnosis:
        """Read step by step until a failure is named that is more than a consequence; then judge."""
        for step in steps:
            step()
            lines = LogLines([part.excerpt for part in self._parts])
            if lines.excerpts == self._analysis.lines.excerpts:
                continue  # nothing new was found to read
            self._analysis = LogAnalysis(self._matcher.find_matches(lines), lines)
            if names_root_cause(self._analysis):
                break
        found = diagnose(self._evidence, self._analysis, note=self._note())
        masked = redacted_lines(tuple(line.text for line in found.evidence))
        evidence = (replace(line, text=text) for line, text in zip(found.evidence, masked, strict=True))
        return replace(found, evidence=tuple(evidence))

    def read_end(self, path: str) -> None:
        # before what was read: the scheduler's last words stand at the end of stderr, which was read first
        self._parts.insert(0, read_tail(path))

    def read_ranks(self, main: Sequence[str], job_id: int | None) -> None:
        paths = rank_logs(main, job_id, self._analysis.lines.texts)
        self._parts[:0] = [read_rank_log(path) for path in paths]

    def read_heads(self) -> None:
        """Read the beginnings of the logs of which only the end was read."""
        cut = [part for part in self._parts if part.excerpt.texts and not part.complete]
        self._parts[:0] = [_head_before(part.excerpt) for part in cut]

    def _note(self) -> str:
        """Say where was looked, if no log could be read, and what was wrong with the user's patterns."""
        return "; ".join(part for part in (self._missing(), *self._remarks(), self._fault) if part)

    def _missing(self) -> str:
        if any(part.excerpt.texts for part in self._parts):
            return ""
        looked = (
            f"{part.excerpt.path} {part.problem}" if part.excerpt.path else _NAMELESS
            for part in reversed(self._parts)
        )
        return f"no log to read: {'; '.join(looked)}"

    def _remarks(self) -> Iterator[str]:
        return (f"{part.excerpt.path} {part.note}" for part in self._parts if part.note)


def _head_before(tail: LogExcerpt) -> LogPart:
    """Read the beginning of the log whose end is ``tail``, up to where that begins."""
    head = read_head(tail.path)
    lines_before = None if tail.first_number is None else tail.first_number - 1
    return replace(head, excerpt=replace(head.excerpt, texts=head.excerpt.texts[:lines_before]))


@lru_cache(maxsize=1)
def _prepared(user_patterns: Path | None, _stamp_ns: int) -> tuple[Matcher, str]:
    """Prepare the rules, once for all parts of a job; the stamp tells when the user's file is another."""
    rules, fault = _rules(user_patterns)
    return Matcher(rules), fault


def _rules(user_patterns: Path | None) -> tuple[tuple[Pattern, ...], str]:
    """Load the rules; without the user's where those have faults, which are returned in words."""
    try:
        return load_patterns(user_patterns), ""
    except PatternsInvalid as invalid:
        faults = "; ".join(invalid.faults)
        fault = f"{invalid.source} has faults, so only the shipped patterns were used: {faults}"
    try:
        return load_patterns(), fault
    except PatternsInvalid as invalid:
        return (), f"no patterns could be used: {invalid}"
