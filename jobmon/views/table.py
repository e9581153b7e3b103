"""Tables that fit a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon.views.console import Style
from jobmon.views.text_width import text_width, truncated
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.console import Console, Lines


_GAP = "  "  # between the columns of tabulate's plain tables


class Cell(NamedTuple):
    """One cell: a text, its style, and shorter texts for a narrow column."""

    text: str
    style: Style = Style.PLAIN
    shorter: tuple[str, ...] = ()

    def fitted(self, width: int) -> Cell:
        """Return the cell with a text of at most ``width`` columns."""
        texts = (self.text, *self.shorter)
        fitting = (text for text in texts if text_width(text) <= width)
        return self._replace(text=next(fitting, truncated(texts[-1], width)))


def table_lines(
    headers: Sequence[str],
    rows: Sequence[Sequence[Cell | str]],
    console: Console,
    steps: Sequence[tuple[int, int]],
) -> Lines:
    """Yield the header and the rows; on a terminal, ``steps`` are taken in order until the table fits.

    A step cuts a column, given by its number, as far as needed, but not below a width.
    """
    cells = [
        [Cell(header, Style.BOLD) for header in headers],
        *([_visible(each) for each in row] for row in rows),
    ]
    columns = [list(column) for column in zip(*cells, strict=True)]
    if console.width:
        _shrink(columns, console.width - len(_GAP) * (len(headers) - 1), steps)
    drawn = [[console.styled(cell.text, cell.style) for cell in row] for row in zip(*columns, strict=True)]
    from tabulate import tabulate  # large; a page in HTML needs no table of text

    # the header is passed as a row, since tabulate pads what it gets as headers
    table = tabulate(drawn, tablefmt="plain", disable_numparse=True)
    yield from map(str.rstrip, table.split("\n"))


def _visible(cell: Cell | str) -> Cell:
    if isinstance(cell, str):
        return Cell(one_line(cell))
    return cell._replace(text=one_line(cell.text), shorter=tuple(map(one_line, cell.shorter)))


def _shrink(columns: list[list[Cell]], available: int, steps: Sequence[tuple[int, int]]) -> None:
    widths = [_width(column) for column in columns]
    for number, smallest in steps:
        excess = sum(widths) - available
        if excess <= 0:
            return
        columns[number] = [cell.fitted(max(smallest, widths[number] - excess)) for cell in columns[number]]
        widths[number] = _width(columns[number])


def _width(column: Sequence[Cell]) -> int:
    return max(text_width(cell.text) for cell in column)
