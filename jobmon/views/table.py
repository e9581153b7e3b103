"""Tables that fit a terminal: some columns shrink, and cells that are too long end with an ellipsis."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tabulate import tabulate

from jobmon.views.console import Style
from jobmon.views.text_width import text_width, truncated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon.views.console import Console

_GAP = "  "  # between the columns of tabulate's plain tables


class Cell(NamedTuple):
    """One cell: a text without control characters, and its style."""

    text: str
    style: Style = Style.PLAIN


class Shrink(NamedTuple):
    """One step to make a table narrower: cut a column down to a width."""

    column: int
    width: int


def table_lines(
    headers: Sequence[str], rows: Sequence[Sequence[Cell]], console: Console, steps: Sequence[Shrink]
) -> Iterator[str]:
    """Yield the header and the rows; on a terminal, ``steps`` are taken in order until the table fits."""
    cells = [[Cell(header, Style.BOLD) for header in headers], *rows]
    widths = [max(text_width(row[column].text) for row in cells) for column in range(len(headers))]
    if console.width:
        _shrink(widths, console.width - len(_GAP) * (len(headers) - 1), steps)
    drawn = [[_drawn(*each, console) for each in zip(row, widths, strict=True)] for row in cells]
    table = tabulate(drawn, tablefmt="plain", disable_numparse=True)  # as headers, they would be padded
    yield from map(str.rstrip, table.split("\n"))


def _shrink(widths: list[int], available: int, steps: Sequence[Shrink]) -> None:
    for step in steps:
        excess = sum(widths) - available
        if excess <= 0:
            return
        widths[step.column] = min(widths[step.column], max(step.width, widths[step.column] - excess))


def _drawn(cell: Cell, width: int, console: Console) -> str:
    return console.styled(truncated(cell.text, width), cell.style)
