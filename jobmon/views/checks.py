"""The list of checks before a submission, as lines and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.record import fields
from jobmon_core.domain.before.checks.model import Item, Status, exit_code
from jobmon_core.domain.humanize import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon.views.console import Console

_MARKS = {
    Status.FAIL: ("FAIL", Style.BAD),
    Status.WARN: ("WARN", Style.ATTENTION),
    Status.PASS: ("ok", Style.GOOD),
    Status.NOT_APPLICABLE: ("-", Style.DIM),
}
_MARK_WIDTH = 6
_VERDICTS = {
    0: "no problem found, you can submit it",
    1: "you can submit it",
    2: "do not submit it like this",
}
_PROBLEMS = (Status.WARN, Status.FAIL)  # the worst last, above the prompt


def check_lines(items: Sequence[Item], console: Console, *, shows_all: bool = False) -> Iterator[str]:
    """Yield the items that warn or fail, the failed ones last, each with what to do; then the result.

    The others are only counted unless ``shows_all``: then they come first.
    """
    if shows_all:
        for item in items:
            if item.status not in _PROBLEMS:
                yield from item_lines(item, console)
    yield from problem_lines(items, console)
    if shows_all or exit_code(items):
        yield ""
    yield from console.prose(_result(items, shows_all=shows_all))


def problem_lines(items: Sequence[Item], console: Console) -> Iterator[str]:
    """Yield only the items that warn or fail, the failed ones last."""
    for status in _PROBLEMS:
        for item in items:
            if item.status is status:
                yield from item_lines(item, console)


def item_lines(item: Item, console: Console) -> Iterator[str]:
    """Yield one item, and what to do about it."""
    mark, style = _MARKS[item.status]
    pad = " " * (_MARK_WIDTH - len(mark))
    name = item.id.replace("_", " ")
    hanging = " " * _MARK_WIDTH
    first, *more = console.prose(f"{name}: {item.text}", hanging, hanging)
    yield f"{console.styled(mark, style)}{pad}{first[_MARK_WIDTH:]}"
    yield from more
    if item.advice:
        arrow = f"{hanging}-> "
        yield from console.prose(item.advice, arrow, f"{hanging}   ")


def _result(items: Sequence[Item], *, shows_all: bool) -> str:
    numbers = {status: sum(item.status is status for item in items) for status in Status}
    parts = [
        count(numbers[Status.FAIL], "failure"),
        count(numbers[Status.WARN], "warning"),
        f"{numbers[Status.PASS]} ok",
        f"{numbers[Status.NOT_APPLICABLE]} not applicable",
    ]
    text = ", ".join(part for part in parts if not part.startswith("0 "))
    return f"{text}{'' if shows_all else ' (--all shows all)'}: {_VERDICTS[exit_code(items)]}"


def checks_json(items: Sequence[Item]) -> dict[str, object]:
    """Return the list as one JSON object."""
    return {
        "exit_code": exit_code(items),
        "failed": sum(item.status is Status.FAIL for item in items),
        "warned": sum(item.status is Status.WARN for item in items),
        "items": [
            {**fields(item, "id", "text", "advice"), "status": item.status.replace(" ", "_")}
            for item in items
        ],
    }
