"""Use cases for failure patterns: list those in use, check a file, test them on a log."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.analysis.explain import explain_files
from jobmon_core.domain.errors import Invalid, JobmonError
from jobmon_core.domain.logs.diagnosis.error_episodes import LogAnalysis
from jobmon_core.domain.logs.diagnosis.log_lines import LogLines
from jobmon_core.domain.logs.diagnosis.model import SlurmEvidence
from jobmon_core.domain.logs.diagnosis.patterns import label_of
from jobmon_core.domain.redaction import redacted
from jobmon_core.observe.logs.read import read_tail
from jobmon_core.observe.patterns.load import FILE_NAME, PatternFile, load_patterns, read_patterns
from jobmon_core.observe.patterns.match import Matcher
from jobmon_core.observe.patterns.restart_rules import restart_rules
from jobmon_core.system.files import shipped_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis, Line
    from jobmon_core.domain.logs.diagnosis.patterns import Pattern

_MAX_BYTES = 16 * 2**20  # of the end of a log, on which patterns are tested


@dataclass(frozen=True, slots=True)
class EffectivePattern:
    """A pattern in use."""

    pattern: Pattern
    is_own: bool = False  # from the user's file
    replaces: bool = False  # a shipped one

    def contains(self, words: Sequence[str]) -> bool:
        """Whether its id, title, cause and advice contain all these words, in any case."""
        pattern = self.pattern
        text = f"{pattern.id} {pattern.title} {pattern.cause} {pattern.advice}".casefold()
        return all(word.casefold() in text for word in words)


@dataclass(frozen=True, slots=True)
class Hit:
    """A line of a log with the patterns that match it, in the order in which they are tried."""

    line: Line
    patterns: tuple[Pattern, ...]
    is_counted: bool  # False: the line is code quoted in a traceback, or one that Ray repeats


@dataclass(frozen=True, slots=True)
class PatternTestResult:
    """What the patterns match in a log."""

    hits: tuple[Hit, ...]
    diagnosis: Diagnosis  # from the log alone
    complete: bool


def own_pattern_file(ctx: Context) -> Path | None:
    """Return the user's own pattern file, if there is one."""
    return ctx.home.patterns if os.path.lexists(ctx.home.patterns) else None


def read_own_patterns(ctx: Context) -> PatternFile:
    """Return the user's own pattern file; its patterns with faults are skipped."""
    path = own_pattern_file(ctx)
    return read_patterns(path) if path else PatternFile("")


def effective_patterns(own: PatternFile) -> tuple[EffectivePattern, ...]:
    """Return all in the order in which they are tried."""
    shipped = {pattern.id for pattern in load_patterns()}
    mine = {pattern.id for pattern in own.patterns}
    return tuple(
        EffectivePattern(pattern, pattern.id in mine, pattern.id in mine and pattern.id in shipped)
        for pattern in load_patterns(own.patterns)
    )


def titles(own: PatternFile) -> dict[str, str]:
    """Return titles by id; none if the shipped file is invalid."""
    try:
        return {pattern.id: pattern.title for pattern in load_patterns(own.patterns)}
    except Invalid:
        return {}  # the diagnosis itself reports that


def restart_causes(ctx: Context) -> frozenset[str]:
    """Return the ids and labels of causes, by which users may name those after which a job is restarted."""
    ids = {pattern.id for pattern in load_patterns(read_own_patterns(ctx).patterns)}
    ids.update(cause for rule in restart_rules() for cause in rule.when.causes)
    return frozenset({*ids, *map(label_of, ids)})


def check(paths: tuple[Path, ...], own: Path | None) -> Iterator[PatternFile]:
    """Yield each pattern file with its faults, also of the examples; all but ``own`` may be anybody's."""
    return (read_patterns(path, of_anyone=path != own) for path in paths)


def files_in_use(own: Path | None) -> tuple[Path, ...]:
    """Return the user's own file first."""
    return tuple(filter(None, (own, shipped_file(FILE_NAME))))


def test_on_log(path: str, own: PatternFile) -> PatternTestResult:
    """Test all patterns on a log; raise JobmonError if it cannot be read."""
    patterns = load_patterns(own.patterns)
    part = read_tail(path, _MAX_BYTES)
    if part.problem:
        raise JobmonError(f"{path} {part.problem}")
    lines = LogLines([part])
    matches = Matcher(patterns).find_matches(lines, limit=None)
    counted = {match.position for match in LogAnalysis(matches, lines).matches}
    hits = []
    for position, group in groupby(matches, key=attrgetter("position")):
        line = replace(lines[position], text=redacted(lines[position].text))
        hits.append(Hit(line, tuple(match.pattern for match in group), position in counted))
    diagnosis = explain_files(SlurmEvidence(), [path], Path(own.source) if own.source else None)
    return PatternTestResult(tuple(hits), diagnosis, part.complete)
