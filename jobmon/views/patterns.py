"""The failure patterns as their author reads them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon.views.diagnosis import verdict
from jobmon.views.text_width import one_line
from jobmon_core.domain.humanize import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon.views.console import Console
    from jobmon_core.app.patterns import EffectivePattern, Hit, PatternFileCheck, PatternTestResult
    from jobmon_core.domain.diagnosis.patterns import Pattern

_INDENT = "    "


def entries_json(entries: Sequence[EffectivePattern]) -> list[dict[str, Any]]:
    """Return the documented list of ``jobmon patterns list --json``."""
    return [
        {
            "id": entry.pattern.id,
            "label": entry.pattern.label,
            "role": entry.pattern.role,
            "severity": entry.pattern.severity,
            "precedence": entry.pattern.precedence,
            "title": entry.pattern.title,
            "cause": entry.pattern.cause,
            "advice": entry.pattern.advice,
            "source": "own" if entry.is_own else "shipped",
        }
        for entry in entries
    ]


def entry_lines(entries: Sequence[EffectivePattern], sheet: Console) -> Iterator[str]:
    """Draw the rules in the order in which they are asked."""
    for number, entry in enumerate(entries):
        if number:
            yield ""
        rule = entry.pattern
        yield sheet.bold(f"{_named(rule)}: {rule.title}{_origin(entry)}")
        yield from sheet.prose(rule.cause, _INDENT)
        yield from sheet.prose(f"What to do: {rule.advice}", _INDENT)


def checked_lines(checked: PatternFileCheck) -> Iterator[str]:
    """Draw what became of checking a file: one line a fault, each with the file's name."""
    if not checked.faults:
        yield one_line(f"{checked.path}: {count(checked.patterns, 'pattern')}, no faults")
    for fault in checked.faults:
        yield one_line(f"{checked.path}: {fault}")


def trial_lines(trial: PatternTestResult, sheet: Console) -> Iterator[str]:
    """Draw every line that a rule matches, and the verdict."""
    for hit in trial.hits:
        yield from _hit_lines(hit, sheet)
    if not trial.hits:
        yield "no pattern matches any line"
    if not trial.complete:
        yield "only the end of this long log was tried"
    yield from sheet.prose(f"verdict: {verdict(trial.diagnosis)}")


def _hit_lines(hit: Hit, sheet: Console) -> Iterator[str]:
    number = "?" if hit.line.number is None else hit.line.number
    yield sheet.line(f"{number}: {hit.line.text}")
    first, *others = hit.patterns
    if hit.is_counted:
        yield sheet.line(f"{_INDENT}{_named(first)} claims it")
    else:
        yield sheet.line(f"{_INDENT}{_named(first)} matches code that a traceback quotes, and can't claim it")
    for rule in others:
        yield sheet.line(f"{_INDENT}{_named(rule)} matches too")


def _named(rule: Pattern) -> str:
    return f"{rule.id} ({rule.role})"


def _origin(entry: EffectivePattern) -> str:
    if not entry.is_own:
        return ""
    return " [yours, in place of the shipped one]" if entry.replaces else " [yours]"
