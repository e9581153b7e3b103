"""The sections of a page, which share its lines; some may get none; and the log below them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon.views.console import Style
from jobmon.views.text_width import text_width
from jobmon.views.top.drawing import Span, text_line
from jobmon_core.domain.humanize import count
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.top.drawing import Line
    from jobmon_core.app.jobs.output import OutputText

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
    """Return the sections in this order in at most ``room`` lines; some are cut or left out."""
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
    """Return how many rows each section gets, by its position; those that get none are left out."""
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
    """Return as many rows as there is room for; the last one counts those that are left out."""
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
    """Return the path and the last lines of a log, or those that end ``lines_back`` lines before its end."""
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
