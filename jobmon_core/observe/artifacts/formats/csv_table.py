"""Check tables of comma- or tab-separated values."""

from __future__ import annotations

import csv
from collections import Counter
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.artifacts.model import UNEVEN_ROWS
from jobmon_core.observe.artifacts.formats.json_file import all_lines, lines_between, reject_nul_bytes
from jobmon_core.observe.artifacts.formats.source import PIECE, Corrupt, NotChecked, Truncated, valid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobmon_core.domain.artifacts.model import FileCheck
    from jobmon_core.observe.artifacts.formats.json_file import Line
    from jobmon_core.observe.artifacts.formats.source import Source


_DELIMITERS = "\t;|,"
_SAMPLE_LINES = 50
_SAMPLE_ROWS = 1_000
_MISSING = frozenset(("", "nan", "na", "null", "none", "inf", "-inf"))
_MUCH = 0.2  # a larger share of missing values is worth a word
_BEGIN_OF_NUMBER = tuple("0123456789+-.")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def check_csv(source: Source, max_bytes: int) -> FileCheck:
    """Return the content of a table; of one above ``max_bytes``, only the start and the end are checked."""
    head = source.read_at(0, PIECE)
    if head.startswith(_UTF_16):
        raise NotChecked("is UTF-16 text, which jobmon does not check")
    reject_nul_bytes(head)
    delimiter = _delimiter(head)
    is_whole = source.size <= max_bytes
    lines = all_lines(source) if is_whole else lines_between(source, 0, max_bytes)
    rows = _rows(lines, delimiter)
    sample = list(islice(rows, _SAMPLE_ROWS))
    widths = Counter(len(row.cells) for row in sample)
    # the most frequent width of the first rows is that of the table
    width = max(widths, key=lambda each: (widths[each], each), default=0)
    count = 0
    for row in chain(sample, rows):
        count += _is_row(row, width, is_first=count == 0)
    if not is_whole:
        for line in lines_between(source, max(1, source.size - PIECE), source.size):
            reject_nul_bytes(line.text, line.offset)
            if line.is_unterminated and not line.is_too_long:
                cells = next(csv.reader([_text(line)], delimiter=delimiter), [])
                _is_row(_Row(cells, 0, _text(line)), width, is_first=False)
    records = max(0, count - 1) if is_whole else None
    return valid("csv", records, width, _missing(sample, width), is_sampled=not is_whole)


def _delimiter(head: bytes) -> str:
    lines = [line for line in head.split(b"\n")[:_SAMPLE_LINES] if not line.startswith(b"#")]
    return max(_DELIMITERS, key=lambda each: sum(each.encode() in line for line in lines))


class _Row(NamedTuple):
    """A row, and the number of the line on which it ends; 0: the last row of a file not read in full."""

    cells: list[str]
    line: int
    unended: str | None = None  # its last line, if no newline ends it: then it may be cut

    @property
    def is_remark(self) -> bool:
        """Whether this may be a remark: a comment, or one word that no newline ends, e.g. ``Total``.

        A number at the end is more likely the start of a row.
        """
        is_word = self.cells == [self.unended] and self.cells[0].lstrip()[:1] not in _BEGIN_OF_NUMBER
        return is_word or self.cells[0].startswith("#")


def _rows(lines: Iterable[Line], delimiter: str) -> Iterator[_Row]:
    """Yield the rows that are not empty; comments above the first one are left out."""
    unended: str | None = None
    has_begun = False

    def texts() -> Iterator[str]:
        nonlocal unended
        for line in lines:
            reject_nul_bytes(line.text, line.offset)
            if line.is_too_long:
                raise NotChecked("has lines that are too long for jobmon to check")
            unended = _text(line) if line.is_unterminated else None
            yield _text(line) if has_begun or not line.text.startswith(b"#") else "\n"

    reader = csv.reader(texts(), delimiter=delimiter)
    try:
        for cells in reader:
            if cells:
                has_begun = True
                yield _Row(cells, reader.line_num, unended)
    except csv.Error as error:
        raise Corrupt(f"is not a table from line {reader.line_num:,} on: {error}") from error


def _is_row(row: _Row, width: int, *, is_first: bool) -> bool:
    """Whether a row is one of the table; lines above the header may have other widths, and do not count.

    Raises:
        Damaged: the row is cut off, or has another width below the header.
    """
    found = len(row.cells)
    if found == width:
        return True
    if row.cells and row.is_remark:
        return False
    if found < width and row.unended is not None:
        raise Truncated(f"ends inside its last row, which has {found} of {width} columns")
    if not is_first:
        where = f"line {row.line:,}" if row.line else "its last line"
        # e.g. "has 3 columns in line 12, elsewhere 4"
        raise Corrupt(f"has {found} {UNEVEN_ROWS} {where}, elsewhere {width}")
    return False


def _missing(sample: Iterable[_Row], width: int) -> str:
    """Return which columns have many empty or not finite values in the first rows; empty if none has."""
    header, *rows = [row.cells for row in sample if len(row.cells) == width] or [[]]
    found = []
    for number, name in enumerate(header):
        empty = sum(row[number].strip().lower() in _MISSING for row in rows)
        if rows and empty > _MUCH * len(rows):
            found.append(f"column {name[:40]}: {empty / len(rows):.0%} of {len(rows):,} values")
    if found:
        return f"empty or not a number: {'; '.join(found[:3])}"
    return ""


def _text(line: Line) -> str:
    return line.text.decode("utf-8", "replace") + ("" if line.is_unterminated else "\n")
