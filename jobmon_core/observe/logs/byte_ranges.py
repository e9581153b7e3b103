"""Read the first or the last bytes of a log, and count the lines before the last ones.

Every function here raises OSError if the storage or its server fails.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobmon_core.observe.logs.open_file import RegularFile

_BLOCK = 64 * 1024
_MAX_COUNTED = 32 * 2**20  # with more bytes before a chunk, counting their lines would be slow
_MAX_ZEROS = 32 * 2**20  # zero bytes skipped at the end of a file


@dataclass(frozen=True, slots=True)
class LogChunk:
    """Consecutive bytes of a log, and where in the log they are."""

    data: bytes
    complete: bool  # the data are the whole log, except for zero bytes at its end
    lines_before: int | None = 0  # None if they were not counted
    begins_line: bool = True  # the data start at the beginning of a line
    note: str = ""  # why a part could not be read; completes a sentence that starts with the path

    def without_partial_first_line(self) -> LogChunk:
        """Drop the first line if its beginning is missing, unless the chunk has no other line."""
        end = -1 if self.begins_line else self.data.find(b"\n")
        data = self.data[end + 1 :]
        if end < 0 or not data:
            return self
        lines_before = None if self.lines_before is None else self.lines_before + 1
        return replace(self, data=data, lines_before=lines_before, begins_line=True)

    def without_partial_last_line(self) -> LogChunk:
        """Drop the last line if its end may be missing, unless the chunk has no other line."""
        if self.complete:
            return self
        return replace(self, data=self.data[: self.data.rfind(b"\n") + 1] or self.data)


def read_start(file: RegularFile, max_bytes: int) -> LogChunk:
    """Return the first ``max_bytes`` of a file, or all of a shorter one."""
    data = file.read_at(0, max_bytes)
    return LogChunk(data, complete=len(data) >= file.size)


def read_end(file: RegularFile, max_bytes: int) -> LogChunk:
    """Return the last ``max_bytes`` of a file before the zero bytes at its end.

    The lines before the chunk are counted unless it starts after the first 32 MiB.
    """
    end = end_of_text(file)
    start = max(0, end - max_bytes)
    return LogChunk(
        file.read_at(start, end - start),
        complete=start == 0,
        lines_before=_count_lines(file, start) if start <= _MAX_COUNTED else None,
        begins_line=start == 0 or file.read_at(start - 1, 1) == b"\n",
    )


def end_of_text(file: RegularFile) -> int:
    """Return the position after the last nonzero byte; a crashed node leaves zeros at the end of files.

    If the file or its last 32 MiB contain only zeros, this is the size of the file.
    """
    end = file.size
    while end > 0 and file.size - end < _MAX_ZEROS:
        start = max(0, end - _BLOCK)
        text = file.read_at(start, end - start).rstrip(b"\x00")
        if text:
            return start + len(text)
        end = start
    return file.size


def _count_lines(file: RegularFile, end: int) -> int:
    return sum(file.read_at(start, min(_BLOCK, end - start)).count(b"\n") for start in range(0, end, _BLOCK))
