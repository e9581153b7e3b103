"""Check tables of comma- or tab-separated values."""

from __future__ import annotations

import csv
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.artifacts.model import UNEVEN_ROWS
from jobmon_core.observe.artifacts.formats.json_file import all_lines, lines_between, reject_nul_bytes
from jobmon_core.observe.artifacts.formats.source import PIECE, Content, Corrupt, NotChecked, Truncated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobmon_core.observe.artifacts.formats.json_file import Line
    from jobmon_core.observe.artifacts.formats.source import Source


_DELIMITERS = "\t;|,"
_SAMPLE_LINES = 50
_SAMPLE_ROWS = 1_000
_MISSING = frozenset(("", "nan", "na", "null", "none", "inf", "-inf"))
_MUCH = 0.2  # a larger share of missing values is worth a word
_BEGIN_OF_NUMBER = tuple("0123456789+-.")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def check_csv(source: Source, max_bytes: int) -> Content:
    """Return the content of a table; of one above ``max_bytes``, only the start and the end are checked."""
    head = source.read_at(0, PIECE)
    if head.startswith(_UTF_16):
        raise NotChecked("is UTF-16 text, which jobmon does not check")
    reject_nul_bytes(head)
    is_whole = source.size <= max_bytes
    lines = all_lines(source) if is_whole else lines_between(source, 0, max_bytes)
    table = _Table(_delimiter(head))
    table.read(lines)
    if not is_whole:
        table.read_last(list(lines_between(source, max(1, source.size - PIECE), source.size)))
    return Content("csv", table.records if is_whole else None, table.width, table.missing(), not is_whole)


def _delimiter(head: bytes) -> str:
    """Return the separator that most of the first lines have; of several, the first in the list."""
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


class _Table:
    """The rows of a table as they are read; the most frequent width of the first rows is that of all."""

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter
        self._sample: list[_Row] = []
        self.width: int | None = None
        self._rows = 0  # lines above the header may have other widths, and do not count
        self._last: Line | None = None

    @property
    def records(self) -> int:
        """The number of rows below the header."""
        return max(0, self._rows - 1)

    def read(self, lines: Iterable[Line]) -> None:
        """Read the rows of a table from its start."""
        reader = csv.reader(self._texts(lines), delimiter=self._delimiter)
        try:
            for cells in reader:
                if cells:
                    self._take(_Row(cells, reader.line_num, self._unended()))
        except csv.Error as error:
            raise Corrupt(f"is not a table from line {reader.line_num:,} on: {error}") from error
        if self.width is None:
            self._settle()

    def read_last(self, lines: list[Line]) -> None:
        """Check the last lines of a table whose rows were not all read."""
        for line in lines:
            reject_nul_bytes(line.text, line.offset)
        for line in lines[-1:]:
            if line.is_unterminated and not line.is_too_long:
                cells = next(csv.reader([_text(line)], delimiter=self._delimiter), [])
                self._count(_Row(cells, 0, _text(line)))

    def _texts(self, lines: Iterable[Line]) -> Iterator[str]:
        for line in lines:
            reject_nul_bytes(line.text, line.offset)
            if line.is_too_long:
                raise NotChecked("has lines that are too long for jobmon to check")
            self._last = line
            is_comment = line.text.startswith(b"#") and not self._rows and not self._sample
            yield "\n" if is_comment else _text(line)

    def _unended(self) -> str | None:
        return _text(self._last) if self._last is not None and self._last.is_unterminated else None

    def _take(self, row: _Row) -> None:
        if self.width is not None:
            self._count(row)
            return
        self._sample.append(row)
        if len(self._sample) >= _SAMPLE_ROWS:
            self._settle()

    def _settle(self) -> None:
        """Find the width of the table from its first rows, then check them."""
        widths = Counter(len(row.cells) for row in self._sample)
        self.width = max(widths, key=lambda width: (widths[width], width), default=0)
        for row in self._sample:
            self._count(row)

    def _count(self, row: _Row) -> None:
        width = len(row.cells)
        if width == self.width:
            self._rows += 1
        elif row.cells and row.is_remark:
            return
        elif width < (self.width or 0) and row.unended is not None:
            raise Truncated(f"ends inside its last row, which has {width} of {self.width} columns")
        elif self._rows:
            where = f"line {row.line:,}" if row.line else "its last line"
            # e.g. "has 3 columns in line 12, elsewhere 4"
            raise Corrupt(f"has {width} {UNEVEN_ROWS} {where}, elsewhere {self.width}")

    def missing(self) -> str:
        """Return which columns have many empty or not finite values in the first rows; empty if none has."""
        header, *rows = [row.cells for row in self._sample if len(row.cells) == self.width] or [[]]
        found = []
        for number, name in enumerate(header):
            empty = sum(row[number].strip().lower() in _MISSING for row in rows)
            if rows and empty > _MUCH * len(rows):
                found.append(f"column {name[:40]}: {empty / len(rows):.0%} of {len(rows):,} values")
        return f"empty or not a number: {'; '.join(found[:3])}" if found else ""


def _text(line: Line) -> str:
    return line.text.decode("utf-8", "replace") + ("" if line.is_unterminated else "\n")
