"""The failure patterns as their author sees them: which are in force, which have faults, what they hit."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.explain import explain_files
from jobmon_core.domain.diagnosis.error_episodes import Scene
from jobmon_core.domain.diagnosis.log_lines import LogLines
from jobmon_core.domain.diagnosis.model import SlurmEvidence
from jobmon_core.domain.errors import JobmonError, PatternsInvalid
from jobmon_core.domain.redaction import redacted
from jobmon_core.observe.logs.read import read_tail
from jobmon_core.observe.patterns.load import load_rules, read_rules, shipped_patterns_path
from jobmon_core.observe.patterns.match import Matcher

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jobmon_core.context import Workshop
    from jobmon_core.domain.diagnosis.log_lines import Line
    from jobmon_core.domain.diagnosis.model import Diagnosis
    from jobmon_core.domain.diagnosis.patterns import Rule

_READ_AT_MOST = 16 * 2**20  # bytes from the end of a log that patterns are tried on


@dataclass(frozen=True, slots=True)
class Entry:
    """A rule in force."""

    rule: Rule
    is_own: bool = False  # it comes from the user's file
    replaces: bool = False  # and stands in the place of a shipped one


@dataclass(frozen=True, slots=True)
class Checked:
    """A pattern file, and every fault that it has."""

    path: str
    rules: int
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A line of a log and every rule that matches it, in the order in which they are asked."""

    line: Line
    rules: tuple[Rule, ...]
    claimed: bool  # by the first of them; not where the line is code that a traceback quotes


@dataclass(frozen=True, slots=True)
class Trial:
    """What the rules do to a log."""

    hits: tuple[Hit, ...]
    diagnosis: Diagnosis  # from the log alone
    complete: bool  # the whole log was read


def own_patterns(shop: Workshop) -> Path | None:
    """Return the user's own pattern file, if there is one."""
    return shop.home.patterns if os.path.lexists(shop.home.patterns) else None


def rules_in_force(own: Path | None) -> tuple[Entry, ...]:
    """Return every rule in the order in which they are asked.

    Raises:
        PatternsInvalid: a file has faults.
    """
    shipped = {rule.id for rule in load_rules()}
    mine = {rule.id for rule in read_rules(own)} if own else set()
    return tuple(
        Entry(rule, rule.id in mine, rule.id in mine and rule.id in shipped) for rule in load_rules(own)
    )


def titles(own: Path | None) -> dict[str, str]:
    """Return the titles of all rules by their ids; none where they can't be loaded."""
    try:
        return {rule.id: rule.title for rule in load_rules(own)}
    except PatternsInvalid:
        return {}  # the diagnosis says so itself


def check(paths: tuple[Path, ...]) -> Iterator[Checked]:
    """Check pattern files, with the examples of every rule."""
    for path in paths:
        try:
            yield Checked(str(path), len(read_rules(path)))
        except PatternsInvalid as invalid:
            yield Checked(invalid.source, 0, invalid.faults)


def in_use(own: Path | None) -> tuple[Path, ...]:
    """Return the pattern files in use, the user's first."""
    return (*((own,) if own else ()), shipped_patterns_path())


def try_on(path: str, own: Path | None) -> Trial:
    """Try all rules on a log.

    Raises:
        PatternsInvalid: a pattern file has faults.
        JobmonError: the log can't be read.
    """
    rules = load_rules(own)
    part = read_tail(path, _READ_AT_MOST)
    if part.problem:
        raise JobmonError(f"{path} {part.problem}")
    lines = LogLines([part.excerpt])
    found = Matcher(rules).every_match(lines)
    claimed = {finding.position for finding in Scene(found, lines).claimed}
    by_line: dict[int, list[Rule]] = {}
    for finding in found:
        by_line.setdefault(finding.position, []).append(finding.rule)
    hits = (
        Hit(_shown(lines[position]), tuple(by_line[position]), position in claimed)
        for position in sorted(by_line)
    )
    return Trial(tuple(hits), explain_files(SlurmEvidence(), [path], own), part.complete)


def _shown(line: Line) -> Line:
    return replace(line, text=redacted(line.text))
