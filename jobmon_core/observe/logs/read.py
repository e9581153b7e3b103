"""The end or the beginning of a log, whatever lies at its path.

Time and memory depend on the bounds below, not on the file. Nothing here raises: what hinders the
reading is part of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.diagnosis.log_lines import LogExcerpt
from jobmon_core.domain.diagnosis.log_text import clean_lines, is_binary
from jobmon_core.observe.logs.byte_ranges import ByteRange, end_of, start_of
from jobmon_core.observe.logs.gzip import decompressed_end, decompressed_start, is_compressed
from jobmon_core.observe.logs.open_file import RegularFile, Unreadable, regular_file
from jobmon_core.observe.logs.rotated import standing_in_for

if TYPE_CHECKING:
    from collections.abc import Callable

TAIL_BYTES = 256 * 1024
HEAD_BYTES = 128 * 1024


@dataclass(frozen=True, slots=True)
class LogPart:
    """Lines from one end of a log, cleaned for reading."""

    excerpt: LogExcerpt
    size: int = 0  # bytes of the file, as it lies on the disk
    problem: str = ""  # why there are no lines, as the end of a sentence on the path; empty if all is well
    complete: bool = False  # these are all lines of the log
    note: str = ""  # what is missing besides, as the end of a sentence on the path; empty if nothing is


def read_tail(path: str, max_bytes: int = TAIL_BYTES) -> LogPart:
    """Read the lines in the last ``max_bytes`` bytes of ``path``.

    A log that was rotated is read where it is now. One packed by gzip is unpacked, and the bytes are those of
    its text. The lines are numbered unless tens of megabytes lie before them.
    """
    return _read(path, lambda file: _tail(file, max_bytes).without_cut_start())


def read_head(path: str, max_bytes: int = HEAD_BYTES) -> LogPart:
    """Read the lines in the first ``max_bytes`` bytes of ``path``, as ``read_tail`` reads the last ones."""
    return _read(path, lambda file: _head(file, max_bytes).without_cut_end())


def _tail(file: RegularFile, max_bytes: int) -> ByteRange:
    return decompressed_end(file, max_bytes) if is_compressed(file) else end_of(file, max_bytes)


def _head(file: RegularFile, max_bytes: int) -> ByteRange:
    return decompressed_start(file, max_bytes) if is_compressed(file) else start_of(file, max_bytes)


def _read(path: str, choose: Callable[[RegularFile], ByteRange]) -> LogPart:
    path = standing_in_for(path)
    try:
        with regular_file(path) as file:
            passage = choose(file)
            size = file.size
    except Unreadable as unreadable:
        return LogPart(LogExcerpt(path), problem=str(unreadable))
    problem = _why_no_text(passage)
    if problem:
        return LogPart(LogExcerpt(path), size, problem)
    first = None if passage.lines_before is None else passage.lines_before + 1
    excerpt = LogExcerpt(path, clean_lines(passage.data), first)
    return LogPart(excerpt, size, complete=passage.complete, note=passage.note)


def _why_no_text(passage: ByteRange) -> str:
    if not passage.data:
        return passage.note or "is empty"
    if not passage.data.strip(b"\x00"):
        return "holds nothing but zeros"
    return "is a binary file, not a log" if is_binary(passage.data) else ""
