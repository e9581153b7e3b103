"""Passages: bytes from the start or the end of a file, and what is known of the lines around them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobmon_core.observe.logs.open_file import RegularFile

_BLOCK = 64 * 1024
_MOST_COUNTED = 32 * 2**20  # bytes before a passage in which line ends are counted
_MOST_ZEROS = 32 * 2**20  # bytes of zeros at the end of a file that are stepped over


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes of a log that follow one another."""

    data: bytes
    complete: bool  # it is the whole log
    lines_before: int | None = 0  # None where nobody counted them
    begins_line: bool = True
    note: str = ""  # what hindered the reading, as the end of a sentence on the path

    def without_cut_start(self) -> ByteRange:
        """Leave out a first line whose beginning is missing, unless there is no other."""
        end = -1 if self.begins_line else self.data.find(b"\n")
        rest = self.data[end + 1 :]
        if end < 0 or not rest:
            return self
        lines_before = None if self.lines_before is None else self.lines_before + 1
        return replace(self, data=rest, lines_before=lines_before, begins_line=True)

    def without_cut_end(self) -> ByteRange:
        """Leave out a last line whose end may be missing, unless there is no other."""
        if self.complete:
            return self
        return replace(self, data=self.data[: self.data.rfind(b"\n") + 1] or self.data)


def start_of(file: RegularFile, max_bytes: int) -> ByteRange:
    """Return the first ``max_bytes`` of a file."""
    data = file.read_at(0, max_bytes)
    return ByteRange(data, complete=len(data) >= file.size)


def end_of(file: RegularFile, max_bytes: int) -> ByteRange:
    """Return the last ``max_bytes`` of a file; zeros behind its text are stepped over.

    The lines before are counted where that takes no longer than a glance.
    """
    end = end_of_text(file)
    start = max(0, end - max_bytes)
    return ByteRange(
        file.read_at(start, end - start),
        complete=start == 0,
        lines_before=_line_ends(file, start) if start <= _MOST_COUNTED else None,
        begins_line=start == 0 or file.read_at(start - 1, 1) == b"\n",
    )


def end_of_text(file: RegularFile) -> int:
    """Return the position behind the last byte that is not zero: a crashed node leaves zeros at the end."""
    end = file.size
    while end > 0 and file.size - end < _MOST_ZEROS:
        start = max(0, end - _BLOCK)
        text = file.read_at(start, end - start).rstrip(b"\x00")
        if text:
            return start + len(text)
        end = start
    return file.size


def _line_ends(file: RegularFile, end: int) -> int:
    return sum(file.read_at(start, min(_BLOCK, end - start)).count(b"\n") for start in range(0, end, _BLOCK))
