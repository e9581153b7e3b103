"""Styled lines, tables, bars and sparklines, and the sections of a page."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from jobmon.views.console import Style
from jobmon.views.text_width import text_width, truncated
from jobmon_core.domain.humanize import count
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon_core.app.jobs.output import OutputText
    from jobmon_core.domain.logs.progress.model import History


class Span(NamedTuple):
    """A piece of a line."""

    text: str
    style: Style = Style.PLAIN


Line = tuple[Span, ...]


class Symbols(NamedTuple):
    """The characters that differ between terminals."""

    full: str
    empty: str
    levels: str  # of a sparkline, from low to high
    plus_minus: str
    up_down: str  # the keys that move up and down
    is_ascii: bool = False


UNICODE = Symbols("█", "░", "▁▂▃▄▅▆▇█", "±", "↑↓")
ASCII = Symbols("#", "-", "_.-~=+*#", "+-", "j/k", is_ascii=True)
_IN_ASCII = str.maketrans({"…": "~", "±": "?"})
_INDENT = "  "
_GAP = "  "  # between the columns of a table
_SHORTEST_S = 1e-3  # of a run whose throughput is drawn


def bar(fraction: float, width: int, symbols: Symbols) -> str:
    """Return a progress bar of ``width`` columns; it is full only at the end."""
    filled = width if fraction >= 1 else min(int(max(0.0, fraction) * width + 0.5), width - 1)
    return symbols.full * filled + symbols.empty * (width - filled)


def sparkline(values: Sequence[float], width: int, symbols: Symbols, lowest: float | None = None) -> str:
    """Return the course of two or more finite values in at most ``width`` columns.

    ``lowest`` is the value of the lowest level; by default the lowest of the values.
    """
    shown = _averaged([value for value in values if math.isfinite(value)], width)
    if len(shown) < 2:  # noqa: PLR2004 - one value has no course
        return ""
    lowest, highest = min(shown) if lowest is None else lowest, max(shown)
    top = len(symbols.levels) - 1
    spread = highest - lowest
    if not 0 < spread < math.inf:
        return symbols.levels[top // 2] * len(shown)
    return "".join(symbols.levels[round((value - lowest) / spread * top)] for value in shown)


def _averaged(values: Sequence[float], width: int) -> list[float]:
    """Return at most ``width`` means of consecutive values."""
    if width < 1:
        return []
    count = min(width, len(values))
    edges = []
    if count:
        edges = [len(values) * position // count for position in range(count + 1)]
    return [sum(values[i:j]) / (j - i) for i, j in pairwise(edges)]


def throughput(history: History, width: int) -> list[float]:
    """Return the units per second in at most ``width`` equal periods of a run."""
    samples = history.samples
    if len(samples) < 3 or samples[-1].at_s < samples[0].at_s + _SHORTEST_S:  # noqa: PLR2004 - two have one rate
        return []
    periods = min(width, len(samples) - 1)
    start_s, step_s = samples[0].at_s, (samples[-1].at_s - samples[0].at_s) / max(1, periods)
    counts, position = [], 0
    for number in range(periods + 1):
        at_s = start_s + number * step_s
        while position < len(samples) - 2 and samples[position + 1].at_s < at_s:
            position += 1
        before, after = samples[position], samples[position + 1]
        share = min(1.0, max(0.0, (at_s - before.at_s) / max(1e-9, after.at_s - before.at_s)))
        counts.append(before.current + share * (after.current - before.current))
    return [max(0.0, later - earlier) / step_s for earlier, later in pairwise(counts)]


def attention(*, when: bool) -> Style:
    """Return the style of a figure, which is notable ``when`` it is."""
    return Style.ATTENTION if when else Style.PLAIN


def text_line(text: str, style: Style = Style.PLAIN) -> Line:
    """Return a line of one style."""
    return (Span(text, style),)


def fitted(line: Iterable[Span], width: int, symbols: Symbols = UNICODE) -> Line:
    """Return a line cut to ``width`` columns, without what the terminal cannot show."""
    spans, left = [], width
    for span in line:
        text = one_line(span.text)
        if text_width(text) > left:
            text = truncated(text, left) if left > 0 else ""
        if symbols.is_ascii:
            text = in_ascii(text)
        left -= text_width(text)
        if text:
            spans.append(Span(text, span.style))
    return tuple(spans)


def in_ascii(text: str) -> str:
    """Return a text of the same width in ASCII."""
    if text.isascii():
        return text
    return "".join(each if each.isascii() else "?" * text_width(each) for each in text.translate(_IN_ASCII))


def line_width(line: Iterable[Span]) -> int:
    """Return the number of columns of a line."""
    return sum(text_width(span.text) for span in line)


def justified(left: Line, right: Line, width: int) -> Line:
    """Return a line with ``right`` at its end, which has precedence."""
    room = width - line_width(right)
    if room <= 1:
        return fitted(right, width)
    start = fitted(left, room - 1)
    return (*start, Span(" " * (room - line_width(start))), *right)


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    header: str
    cells: Sequence[Span]
    importance: int = 0  # where there is no room, the least important columns are left out first
    is_right_aligned: bool = False
    least: int = 0  # columns that it takes at least, so that changing figures rarely move it

    @cached_property
    def width(self) -> int:
        """The width of the header or the widest cell, whichever is wider."""
        texts = (self.header, *(one_line(cell.text) for cell in self.cells))
        return max(self.least, *map(text_width, texts))

    def padded(self, span: Span) -> Span:
        """Return the cell, padded to the column's width."""
        text = one_line(span.text)
        padding = " " * (self.width - text_width(text))
        return Span(padding + text if self.is_right_aligned else text + padding, span.style)


def table(title: str, columns: Sequence[Column], width: int) -> tuple[Line, list[Line]]:
    """Return the header and the rows of a table that fits ``width`` columns; the first is always shown."""
    first, *others = columns
    if not first.cells:
        return (), []
    cells = [Span(f"{_INDENT}{cell.text}", cell.style) for cell in first.cells]
    first = replace(first, header=title, cells=cells)
    shown = [first, *(each for each in others if any(cell.text for cell in each.cells))]
    while len(shown) > 1 and sum(each.width + len(_GAP) for each in shown) - len(_GAP) > width:
        shown.remove(min(shown[1:], key=lambda each: each.importance))
    header = [each.padded(Span(each.header, Style.DIM)) for each in shown]
    header[0] = Span(header[0].text, Style.BOLD)
    rows = [[each.padded(each.cells[number]) for each in shown] for number in range(len(first.cells))]
    return _joined(header), [_joined(row) for row in rows]


def _joined(cells: Sequence[Span]) -> Line:
    line = [cells[0]]
    for cell in cells[1:]:
        line += [Span(_GAP), cell]
    return tuple(line)


_LEAST = 2  # rows; a section with room for fewer is left out, unless those are all it has
_USUAL = 3  # rows that each section gets before any gets more,
_WANTED = 4  # and those that users open the page for
_NOTABLE = (Style.BAD, Style.ATTENTION)


class Section(NamedTuple):
    """A title with rows below it."""

    head: Line
    rows: list[Line]
    rank: int  # the sections with the lowest ranks get room first
    most: int = 5  # rows that are shown at most
    is_by_importance: bool = True  # the first rows are the most important; else those that stand out
    is_wanted: bool = False  # in a small window, other facts make room for it
    is_fact: bool = False  # the title says something of its own, and is shown even without rows


def titled(title: str, rows: list[Line], rank: int) -> Section:
    """Return a section of rows that are sorted by importance."""
    return Section((Span(title, Style.BOLD),), rows, rank)


def section_lines(sections: Sequence[Section], room: int) -> list[Line]:
    """Return the sections in at most ``room`` lines; some are cut or left out."""
    given = _given(sections, room)
    lines: list[Line] = []
    for position, section in enumerate(sections):
        if position in given:
            lines += [section.head, *_cut(section, given[position])]
        elif section.is_fact and room > 0:
            lines.append(section.head)
    return lines


def shows_what_is_wanted(sections: Sequence[Section], room: int) -> bool:
    """Whether ``room`` lines are enough for the first rows of the sections that users want to see."""
    given = _given(sections, room)
    wanted = [(position, each) for position, each in enumerate(sections) if each.is_wanted]
    return all(given.get(position, 0) >= min(len(each.rows), _WANTED) for position, each in wanted)


def _given(sections: Sequence[Section], room: int) -> dict[int, int]:
    """Return how many rows each section gets, by its position."""
    given: dict[int, int] = {}
    ranked = sorted((each.rank, position) for position, each in enumerate(sections) if each.rows)
    room -= sum(each.is_fact for each in sections)
    for _, position in ranked:
        section = sections[position]
        number, head = len(section.rows), 0 if section.is_fact else 1
        rows = min(number, _WANTED if section.is_wanted else _USUAL, room - head)
        if rows >= min(number, _LEAST):
            given[position] = rows
            room -= rows + head
    for _, position in ranked:
        section = sections[position]
        if position in given:
            more = min(min(len(section.rows), section.most) - given[position], room)
            given[position] += more
            room -= more
    return given


def _cut(section: Section, room: int) -> list[Line]:
    """Return as many rows as there is room for; the last one counts the others."""
    rows = section.rows
    if len(rows) <= room:
        return rows
    positions = list(range(len(rows)))
    if not section.is_by_importance:
        positions.sort(key=lambda position: not _stands_out(rows[position]))
    shown = [rows[position] for position in sorted(positions[: room - 1])]
    return [*shown, text_line(f"  and {len(rows) - room + 1} more", Style.DIM)]


def _stands_out(row: Line) -> bool:
    return any(span.style in _NOTABLE and span.text.strip() for span in row)


def log_lines(log: OutputText | None, width: int, height: int, lines_back: int = 0) -> list[Line]:
    """Return the path and the last lines of a log, or those that end ``lines_back`` lines before."""
    if log is None:
        return [text_line("no log is known yet", Style.DIM)][: max(0, height)]
    texts = [*log.lines, log.unfinished] if log.unfinished else list(log.lines)
    end = max(min(height - 1, len(texts)), len(texts) - lines_back)
    shown = texts[max(0, end - max(0, height - 1)) : end]
    back = ""
    if end < len(texts):
        back = f", {count(len(texts) - end, 'line')} from the end"
    problem = ""
    if log.problem:
        problem = f" {log.problem}"
    title = f"{problem}{back}"
    path = end_of(one_line(log.path), width - len("Log ") - text_width(title))
    return [
        (Span("Log ", Style.BOLD), Span(f"{path}{title}", Style.DIM)),
        *(text_line(text.expandtabs()) for text in shown),
    ][: max(0, height)]


def end_of(path: str, width: int) -> str:
    """Return the end of a path in at most ``width`` columns."""
    while text_width(path) > max(1, width):
        path = f"…{path[max(2, len(path) - width + 1) :]}"
    return path
