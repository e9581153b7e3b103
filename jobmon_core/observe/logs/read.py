"""Read the lines at the end or at the beginning of a log.

Time and memory are bounded, however large the file is. No function here raises: problems
are part of the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt
from jobmon_core.domain.logs.diagnosis.log_text import clean_lines, is_binary
from jobmon_core.domain.redaction import PRIVATE_KEY, without_private_keys
from jobmon_core.observe.logs.byte_ranges import LogChunk, read_end, read_start
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
    note: str = ""  # why a part of the log could not be read; completes a sentence that starts with the path


def read_tail(path: str, max_bytes: int = TAIL_BYTES) -> LogPart:
    """Read the lines in the last ``max_bytes`` bytes of ``path``.

    If the log is missing, its rotated copy is read. A gzip-compressed log is decompressed, and ``max_bytes``
    counts decompressed bytes. The lines of any other log have no numbers if more than 32 MiB precede them.
    """
    return _read(path, lambda file: read_end(file, max_bytes).without_partial_first_line())


def read_head(path: str, max_bytes: int = HEAD_BYTES) -> LogPart:
    """Read the lines in the first ``max_bytes`` bytes of ``path``; otherwise like ``read_tail``."""
    return _read(path, lambda file: read_start(file, max_bytes).without_partial_last_line())


def _read(path: str, read_chunk: Callable[[RegularFile], LogChunk]) -> LogPart:
    path = find_rotated(path)
    try:
        with regular_file(path) as file:
            chunk = read_chunk(file)
            size = file.size
    except Unreadable as error:
        return LogPart(LogExcerpt(path), problem=str(error))
    if problem := _problem(chunk):
        return LogPart(LogExcerpt(path), size, problem)
    first = None if chunk.lines_before is None else chunk.lines_before + 1
    texts = clean_lines(chunk.data)
    if (
        PRIVATE_KEY.encode() in chunk.data
    ):  # now, since the lines that are quoted may lack the key's first one
        texts = without_private_keys(texts)
    excerpt = LogExcerpt(path, texts, first)
    return LogPart(excerpt, size, complete=chunk.complete, note=chunk.note)


def _problem(chunk: LogChunk) -> str:
    """Return why the chunk has no lines to show; empty if it is text."""
    if not chunk.data:
        return chunk.note or "is empty"
    if not chunk.data.strip(b"\x00"):
        return "contains only zero bytes"
    return "is a binary file, not a log" if is_binary(chunk.data) else ""
