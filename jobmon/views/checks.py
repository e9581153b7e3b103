"""The list of checks before a submission, as lines and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import fields
from jobmon_core.domain.finding import Finding, Severity, worst
from jobmon_core.domain.humanize import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.console import Console, Lines


_MARKS = {
    Severity.CRITICAL: ("FAIL", Style.BAD),
    Severity.WARNING: ("WARN", Style.ATTENTION),
    Severity.INFO: ("ok", Style.GOOD),
    Severity.UNKNOWN: ("-", Style.DIM),
}
_STATUSES = {
    Severity.CRITICAL: "fail",
    Severity.WARNING: "warn",
    Severity.INFO: "pass",
    Severity.UNKNOWN: "not_applicable",
}
_MARK_WIDTH = 6
_VERDICTS = {
    0: "no problem found, you can submit it",
    1: "you can submit it",
    2: "do not submit it like this",
}
_PROBLEMS = (Severity.WARNING, Severity.CRITICAL)  # the worst last, above the prompt


def check_lines(items: Sequence[Finding], console: Console, *, shows_all: bool = False) -> Lines:
    """Yield the items that warn or fail, the failed ones last; then the result.

    The others come first if ``shows_all``, else they are only counted.
    """
    if shows_all:
        for item in items:
            if item.severity not in _PROBLEMS:
                yield from item_lines(item, console)
    yield from problem_lines(items, console)
    if not shows_all:
        for item in items:
            if item.id == "cost" and item.severity is Severity.INFO:
                yield from item_lines(item, console)
    if shows_all or worst(items):
        yield ""
    yield from console.prose(_result(items, shows_all=shows_all))


def problem_lines(items: Sequence[Finding], console: Console) -> Lines:
    """Yield only the items that warn or fail, the failed ones last."""
    for status in _PROBLEMS:
        for item in items:
            if item.severity is status:
                yield from item_lines(item, console)


def item_lines(item: Finding, console: Console) -> Lines:
    """Yield one item, and what to do about it."""
    mark, style = _MARKS[item.severity]
    pad = " " * (_MARK_WIDTH - len(mark))
    name = item.id.replace("_", " ")
    hanging = " " * _MARK_WIDTH
    first, *more = console.prose(f"{name}: {item.text}", hanging, hanging)
    yield f"{console.styled(mark, style)}{pad}{first[_MARK_WIDTH:]}"
    yield from more
    if item.advice:
        arrow = f"{hanging}-> "
        yield from console.prose(item.advice, arrow, f"{hanging}   ")


def _result(items: Sequence[Finding], *, shows_all: bool) -> str:
    numbers = {status: sum(item.severity is status for item in items) for status in Severity}
    parts = [
        count(numbers[Severity.CRITICAL], "failure"),
        count(numbers[Severity.WARNING], "warning"),
        f"{numbers[Severity.INFO]} ok",
        f"{numbers[Severity.UNKNOWN]} not applicable",
    ]
    text = ", ".join(part for part in parts if not part.startswith("0 "))
    return f"{text}{'' if shows_all else ' (--all shows all)'}: {_VERDICTS[worst(items)]}"


def checks_json(items: Sequence[Finding]) -> dict[str, object]:
    """Return the list as one JSON object."""
    return {
        "exit_code": int(worst(items)),
        "failed": sum(item.severity is Severity.CRITICAL for item in items),
        "warned": sum(item.severity is Severity.WARNING for item in items),
        "items": [
            {**fields(item, "id", "text", "advice"), "status": _STATUSES[item.severity]} for item in items
        ],
    }
