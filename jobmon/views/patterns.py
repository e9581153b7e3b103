"""Failure patterns as text and JSON, and the results of checks and tests of them as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon.views.diagnosis import summary
from jobmon.views.record import fields
from jobmon_core.domain.humanize import count
from jobmon_core.domain.logs.diagnosis.ray_log import is_repeated
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon.views.console import Console
    from jobmon_core.app.patterns import EffectivePattern, Hit, PatternFileCheck, PatternTestResult
    from jobmon_core.domain.logs.diagnosis.patterns import Pattern

_INDENT = "    "
_KEYS = ("id", "label", "role", "severity", "precedence", "title", "cause", "advice")


def patterns_json(entries: Sequence[EffectivePattern]) -> list[dict[str, Any]]:
    """Return the list that ``jobmon patterns list --json`` prints."""
    return [
        {**fields(entry.pattern, *_KEYS), "source": "own" if entry.is_own else "shipped"} for entry in entries
    ]


def pattern_lines(entries: Sequence[EffectivePattern], console: Console) -> Iterator[str]:
    """Yield the patterns in the order in which they are tried."""
    for number, entry in enumerate(entries):
        if number:
            yield ""
        pattern = entry.pattern
        yield console.bold(f"{_id_and_role(pattern)}: {pattern.title}{_source(entry)}")
        yield from console.prose(pattern.cause, _INDENT)
        yield from console.prose(f"What to do: {pattern.advice}", _INDENT)


def check_lines(check: PatternFileCheck) -> Iterator[str]:
    """Yield one line per fault of a pattern file, or one that says it has none; each starts with the path."""
    if not check.faults:
        yield one_line(f"{check.path}: {count(check.pattern_count, 'pattern')}, no faults")
    for fault in check.faults:
        yield one_line(f"{check.path}: {fault}")


def test_lines(result: PatternTestResult, console: Console) -> Iterator[str]:
    """Yield each matched line of the log with its patterns, then the diagnosis."""
    for hit in result.hits:
        yield from _hit_lines(hit, console)
    if not result.hits:
        yield "no pattern matches any line"
    if not result.complete:
        yield "patterns were tested on the last 16 MiB of the log only"
    yield from console.prose(f"diagnosis: {summary(result.diagnosis)}")


def _hit_lines(hit: Hit, console: Console) -> Iterator[str]:
    number = "?" if hit.line.number is None else str(hit.line.number)
    yield console.line(f"{number}: {hit.line.text}")
    first, *others = hit.patterns
    yield console.line(f"{_INDENT}{_id_and_role(first)} {_effect(hit)}")
    for other in others:
        yield console.line(f"{_INDENT}{_id_and_role(other)} also matches")


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
