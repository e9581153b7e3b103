"""Read the lines at the end or at the beginning of a log.

Time and memory depend on the limits below, not on the size of the file. No function here raises: problems
are part of the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.diagnosis.log_lines import LogExcerpt
from jobmon_core.domain.diagnosis.log_text import clean_lines, is_binary
from jobmon_core.observe.logs.byte_ranges import ByteRange, read_end, read_start
from jobmon_core.observe.logs.gzip import decompressed_end, decompressed_start, is_compressed
from jobmon_core.observe.logs.open_file import RegularFile, Unreadable, find_rotated, regular_file

if TYPE_CHECKING:
    from collections.abc import Callable

TAIL_BYTES = 256 * 1024
HEAD_BYTES = 128 * 1024


@dataclass(frozen=True, slots=True)
class LogPart:
    """Lines from one end of a log, cleaned for reading."""

    excerpt: LogExcerpt
    size: int = 0  # bytes of the file on disk
    problem: str = ""  # why there are no lines; completes a sentence that starts with the path
    complete: bool = False  # the excerpt has all lines of the log
    note: str = ""  # what else is missing; completes a sentence that starts with the path


def read_tail(path: str, max_bytes: int = TAIL_BYTES) -> LogPart:
    """Read the lines in the last ``max_bytes`` bytes of ``path``.

    A missing log is replaced by its rotated copy. A log compressed by gzip is decompressed, and ``max_bytes``
    counts bytes of its text. The lines are numbered unless tens of megabytes precede them.
    """
    return _read(path, lambda file: _end(file, max_bytes).without_cut_start())


def read_head(path: str, max_bytes: int = HEAD_BYTES) -> LogPart:
    """Read the lines in the first ``max_bytes`` bytes of ``path``, as ``read_tail`` reads the last ones."""
    return _read(path, lambda file: _start(file, max_bytes).without_cut_end())


def _end(file: RegularFile, max_bytes: int) -> ByteRange:
    return decompressed_end(file, max_bytes) if is_compressed(file) else read_end(file, max_bytes)


def _start(file: RegularFile, max_bytes: int) -> ByteRange:
    return decompressed_start(file, max_bytes) if is_compressed(file) else read_start(file, max_bytes)


def _read(path: str, read_range: Callable[[RegularFile], ByteRange]) -> LogPart:
    path = find_rotated(path)
    try:
        with regular_file(path) as file:
            content = read_range(file)
            size = file.size
    except Unreadable as error:
        return LogPart(LogExcerpt(path), problem=str(error))
    problem = _problem(content)
    if problem:
        return LogPart(LogExcerpt(path), size, problem)
    first = None if content.lines_before is None else content.lines_before + 1
    excerpt = LogExcerpt(path, clean_lines(content.data), first)
    return LogPart(excerpt, size, complete=content.complete, note=content.note)


def _problem(content: ByteRange) -> str:
    """Return why the bytes are not a log; empty for text."""
    if not content.data:
        return content.note or "is empty"
    if not content.data.strip(b"\x00"):
        return "contains only zero bytes"
    return "is a binary file, not a log" if is_binary(content.data) else ""
