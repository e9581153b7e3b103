"""Use cases for failure patterns: list those in use, check a file, test them on a log."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from jobmon_core.analysis.explain import explain_files
from jobmon_core.domain.diagnosis.error_episodes import LogAnalysis
from jobmon_core.domain.diagnosis.log_lines import LogLines
from jobmon_core.domain.diagnosis.model import SlurmEvidence
from jobmon_core.domain.errors import JobmonError, PatternsInvalid
from jobmon_core.domain.redaction import redacted
from jobmon_core.observe.logs.read import read_tail
from jobmon_core.observe.patterns.load import load_patterns, read_patterns, shipped_patterns_path
from jobmon_core.observe.patterns.match import Matcher

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jobmon_core.context import Context
    from jobmon_core.domain.diagnosis.model import Diagnosis, Line
    from jobmon_core.domain.diagnosis.patterns import Pattern

_MAX_BYTES = 16 * 2**20  # of the end of a log, on which patterns are tested


@dataclass(frozen=True, slots=True)
class EffectivePattern:
    """A pattern in use."""

    pattern: Pattern
    is_own: bool = False  # from the user's file
    replaces: bool = False  # it replaces a shipped pattern


@dataclass(frozen=True, slots=True)
class PatternFileCheck:
    """A pattern file with all its faults."""

    path: str
    pattern_count: int  # 0 if the file has faults
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A line of a log with the patterns that match it, in the order in which they are tried."""

    line: Line
    patterns: tuple[Pattern, ...]
    is_counted: bool  # False: the line is code quoted in a traceback


@dataclass(frozen=True, slots=True)
class PatternTestResult:
    """What the patterns match in a log."""

    hits: tuple[Hit, ...]
    diagnosis: Diagnosis  # from the log alone
    complete: bool  # whether the whole log was read


def own_patterns(ctx: Context) -> Path | None:
    """Return the user's own pattern file; None if there is none."""
    return ctx.home.patterns if os.path.lexists(ctx.home.patterns) else None


def effective_patterns(own: Path | None) -> tuple[EffectivePattern, ...]:
    """Return every pattern in the order in which they are tried.

    Raises:
        PatternsInvalid: a file has faults.
    """
    shipped = {pattern.id for pattern in load_patterns()}
    mine = {pattern.id for pattern in read_patterns(own)} if own else set()
    return tuple(
        EffectivePattern(pattern, pattern.id in mine, pattern.id in mine and pattern.id in shipped)
        for pattern in load_patterns(own)
    )


def titles(own: Path | None) -> dict[str, str]:
    """Return the titles of all patterns by id; empty if a pattern file is invalid."""
    try:
        return {pattern.id: pattern.title for pattern in load_patterns(own)}
    except PatternsInvalid:
        return {}  # the diagnosis itself reports that


def check(paths: tuple[Path, ...]) -> Iterator[PatternFileCheck]:
    """Yield the check of each pattern file, which includes the examples of every pattern."""
    for path in paths:
        try:
            yield PatternFileCheck(str(path), len(read_patterns(path)))
        except PatternsInvalid as invalid:
            yield PatternFileCheck(invalid.source, 0, invalid.faults)


def in_use(own: Path | None) -> tuple[Path, ...]:
    """Return the pattern files in use, the user's own first."""
    return (*((own,) if own else ()), shipped_patterns_path())


def test_on_log(path: str, own: Path | None) -> PatternTestResult:
    """Test all patterns on a log.

    Raises:
        PatternsInvalid: a pattern file has faults.
        JobmonError: the log cannot be read.
    """
    patterns = load_patterns(own)
    part = read_tail(path, _MAX_BYTES)
    if part.problem:
        raise JobmonError(f"{path} {part.problem}")
    lines = LogLines([part.excerpt])
    matches = Matcher(patterns).every_match(lines)
    counted = {match.position for match in LogAnalysis(matches, lines).matches}
    hits = []
    for position, group in groupby(matches, key=attrgetter("position")):
        line = replace(lines[position], text=redacted(lines[position].text))
        hits.append(Hit(line, tuple(match.pattern for match in group), position in counted))
    return PatternTestResult(tuple(hits), explain_files(SlurmEvidence(), [path], own), part.complete)
