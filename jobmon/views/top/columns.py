"""Small tables on a page, whose less important columns are left out where there is no room."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon.views.console import Style, one_line
from jobmon.views.text_width import text_width
from jobmon.views.top.drawing import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.top.drawing import Line

_INDENT = "  "
_GAP = "  "


class Column(NamedTuple):
    """One column of a table."""

    header: str
    cells: Sequence[Span]
    importance: int  # where there is no room, the least important columns are left out first
    is_right_aligned: bool = False

    @property
    def width(self) -> int:
        """The width of the header or the widest cell, whichever is wider."""
        return max(text_width(self.header), *(text_width(one_line(cell.text)) for cell in self.cells))

    def padded(self, span: Span) -> Span:
        """Return the cell, padded to the column's width."""
        text = one_line(span.text)
        padding = " " * (self.width - text_width(text))
        return Span(padding + text if self.is_right_aligned else text + padding, span.style)


class Table(NamedTuple):
    """The header and the rows of a table."""

    header: Line
    rows: list[Line]


def table(title: str, columns: Sequence[Column], width: int) -> Table:
    """Return a table that fits ``width`` columns; the title is the header of its first column.

    The first column is shown in any case, even if it does not fit. Columns without content are left out.
    """
    first, *others = columns
    if not first.cells:
        return Table((), [])
    first = first._replace(
        header=title, cells=[Span(f"{_INDENT}{cell.text}", cell.style) for cell in first.cells]
    )
    shown = [first, *(each for each in others if any(cell.text for cell in each.cells))]
    while len(shown) > 1 and sum(each.width + len(_GAP) for each in shown) - len(_GAP) > width:
        shown.remove(min(shown[1:], key=lambda each: each.importance))
    header = [each.padded(Span(each.header, Style.DIM)) for each in shown]
    header[0] = Span(header[0].text, Style.BOLD)
    rows = [[each.padded(each.cells[number]) for each in shown] for number in range(len(first.cells))]
    return Table(_joined(header), [_joined(row) for row in rows])


def _joined(cells: Sequence[Span]) -> Line:
    line = [cells[0]]
    for cell in cells[1:]:
        line += [Span(_GAP), cell]
    return tuple(line)
