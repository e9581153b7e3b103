"""Read the lines at the end or at the beginning of a log, in bounded time and memory.

No function here raises: problems are part of the result.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt, clean_lines, is_binary
from jobmon_core.domain.redaction import PRIVATE_KEY, without_private_keys
from jobmon_core.observe.logs.gzip_stream import inflated
from jobmon_core.observe.logs.open_file import Unreadable, find_rotated, regular_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jobmon_core.observe.logs.open_file import RegularFile


_BLOCK = 64 * 1024
_MAX_COUNTED = 32 * 2**20  # bytes before a chunk: to count the lines of more would be slow
_MAX_ZEROS = 32 * 2**20  # zero bytes skipped at the end of a file


@dataclass(frozen=True, slots=True)
class LogChunk:
    """Consecutive bytes of a log, and where in the log they are."""

    data: bytes
    complete: bool  # the whole log, but for zero bytes at its end
    lines_before: int | None = 0  # None if they were not counted
    begins_line: bool = True  # the data start at the beginning of a line
    note: str = ""  # why a part could not be read, as the end of a sentence

    def without_partial_first_line(self) -> LogChunk:
        """Drop the first line if its beginning is missing, unless it is the only one."""
        end = -1 if self.begins_line else self.data.find(b"\n")
        data = self.data[end + 1 :]
        if end < 0 or not data:
            return self
        lines_before = None if self.lines_before is None else self.lines_before + 1
        return replace(self, data=data, lines_before=lines_before, begins_line=True)

    def without_partial_last_line(self) -> LogChunk:
        """Drop the last line if its end may be missing, unless it is the only one."""
        whole = self.data[: self.data.rfind(b"\n") + 1]
        return replace(self, data=whole) if whole and not self.complete else self


def read_start(file: RegularFile, max_bytes: int) -> LogChunk:
    """Return the first ``max_bytes`` of a log, or all of a shorter one."""
    if _is_compressed(file):
        return _decompressed_start(file, max_bytes)
    data = file.read_at(0, max_bytes)
    return LogChunk(data, complete=len(data) >= file.size)


def read_end(file: RegularFile, max_bytes: int) -> LogChunk:
    """Return the last ``max_bytes`` of a log before the zero bytes at its end, or what is readable."""
    if _is_compressed(file):
        return _decompressed_end(file, max_bytes)
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

    Beyond 32 MiB of zeros, return the size of the file.
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


_MAGIC = b"\x1f\x8b\x08"
# Decompressing up to these limits takes a few seconds. An archive beyond them is a decompression bomb, or too
# large to decompress as a whole.
_MAX_COMPRESSED = 64 * 2**20
_MAX_DECOMPRESSED = 512 * 2**20
_MAX_PIECES = 30_000  # only an archive of very many members yields more

_TRUNCATED = "is compressed and was cut off"
_DAMAGED = "is compressed and damaged: it was read up to the damage"
_TOO_MUCH = "is compressed and holds too much: only its beginning was read"


def _is_compressed(file: RegularFile) -> bool:  # whatever its name
    return file.read_at(0, len(_MAGIC)) == _MAGIC


def _decompressed(file: RegularFile, faults: list[str]) -> Iterator[bytes]:
    """Yield the content; if not all of it, add to ``faults`` why."""
    size = 0
    try:
        for count, (piece, read) in enumerate(inflated(file.read_at)):
            yield piece
            size += len(piece)
            if count > _MAX_PIECES or size > _MAX_DECOMPRESSED or read > _MAX_COMPRESSED:
                faults.append(_TOO_MUCH)
                return
    except EOFError:
        faults.append(_TRUNCATED)
    except zlib.error:
        faults.append(_DAMAGED)


def _decompressed_start(file: RegularFile, max_bytes: int) -> LogChunk:
    data, faults = bytearray(), list[str]()
    for piece in _decompressed(file, faults):
        data += piece
        if len(data) > max_bytes:
            break
    complete = len(data) <= max_bytes and not faults
    return LogChunk(bytes(data[:max_bytes]), complete, note="".join(faults))


def _decompressed_end(file: RegularFile, max_bytes: int) -> LogChunk:
    data, faults = bytearray(), list[str]()
    lines_before, begins_line, is_whole = 0, True, True
    for piece in chain(_decompressed(file, faults), [None]):
        data += piece or b""
        excess = len(data) - max_bytes
        if excess > max_bytes or (piece is None and excess > 0):  # rarely, since it moves the remaining bytes
            lines_before += data.count(b"\n", 0, excess)
            begins_line = data.endswith(b"\n", 0, excess)
            is_whole = False
            del data[:excess]
    return LogChunk(bytes(data), is_whole and not faults, lines_before, begins_line, "".join(faults))


TAIL_BYTES = 256 * 1024
HEAD_BYTES = 128 * 1024


def read_tail(path: str, max_bytes: int = TAIL_BYTES) -> LogExcerpt:
    """Read the lines in the last ``max_bytes`` bytes of a log, or of the rotated copy of a missing one.

    Of a gzip-compressed log, ``max_bytes`` counts decompressed bytes. The lines of any other one have no
    numbers if more than 32 MiB precede them.
    """
    return _read(path, lambda file: read_end(file, max_bytes).without_partial_first_line())


def read_head(path: str, max_bytes: int = HEAD_BYTES) -> LogExcerpt:
    """Read the lines in the first ``max_bytes`` bytes of a log; otherwise like `read_tail`."""
    return _read(path, lambda file: read_start(file, max_bytes).without_partial_last_line())


def _read(path: str, read_chunk: Callable[[RegularFile], LogChunk]) -> LogExcerpt:
    path = find_rotated(path)
    try:
        with regular_file(path) as file:
            chunk = read_chunk(file)
            size = file.size
    except Unreadable as error:
        return LogExcerpt(path, problem=str(error))
    if problem := _problem(chunk):
        return LogExcerpt(path, problem=problem, size=size)
    first = None if chunk.lines_before is None else chunk.lines_before + 1
    texts = clean_lines(chunk.data)
    if PRIVATE_KEY.encode() in chunk.data:  # now: lines that are quoted may lack the key's first one
        texts = without_private_keys(texts)
    return LogExcerpt(path, texts, first, size=size, complete=chunk.complete, note=chunk.note)


def _problem(chunk: LogChunk) -> str:
    if not chunk.data:
        return chunk.note or "is empty"
    if not chunk.data.strip(b"\x00"):
        return "contains only zero bytes"
    if is_binary(chunk.data):
        return "is a binary file, not a log"
    return ""
