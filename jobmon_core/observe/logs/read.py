"""Read the lines at the end or at the beginning of a log.

Time and memory are bounded, however large the file is. No function here raises: problems
are part of the result.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from dataclasses import dataclass, replace
from gzip import BadGzipFile, GzipFile
from io import RawIOBase
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt, clean_lines, is_binary
from jobmon_core.domain.redaction import PRIVATE_KEY, without_private_keys
from jobmon_core.observe.logs.open_file import RegularFile, Unreadable, find_rotated, regular_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    """Return the first ``max_bytes`` of a log, or all of a shorter one."""
    if _is_compressed(file):
        return _decompressed_start(file, max_bytes)
    data = file.read_at(0, max_bytes)
    return LogChunk(data, complete=len(data) >= file.size)


def read_end(file: RegularFile, max_bytes: int) -> LogChunk:
    """Return the last ``max_bytes`` of a log before the zero bytes at its end, or what is readable of them.

    The lines before the chunk are counted unless it starts after the first 32 MiB of an uncompressed file.
    """
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


_MAGIC = b"\x1f\x8b\x08"
_STEP = 64 * 1024  # bytes read or decompressed at once
# Decompressing up to these limits takes a few seconds. An archive beyond them is a decompression bomb, or too
# large to decompress as a whole.
_MAX_COMPRESSED = 64 * 2**20
_MAX_DECOMPRESSED = 512 * 2**20
_MAX_PIECES = 30_000  # within the limits above, only an archive of very many gzip members yields more

_TRUNCATED = "is compressed and was cut off"
_DAMAGED = "is compressed and damaged: it was read up to the damage"
_TOO_MUCH = "is compressed and holds too much: only its beginning was read"


def _is_compressed(file: RegularFile) -> bool:  # whatever its name
    return file.read_at(0, len(_MAGIC)) == _MAGIC


def _decompressed_start(file: RegularFile, max_bytes: int) -> LogChunk:
    data = bytearray()
    archive = _Archive(file)
    for piece in archive.pieces():
        data += piece
        if len(data) > max_bytes:
            break
    complete = len(data) <= max_bytes and not archive.fault
    return LogChunk(bytes(data[:max_bytes]), complete, note=archive.fault)


def _decompressed_end(file: RegularFile, max_bytes: int) -> LogChunk:
    end = _LastBytes(max_bytes)
    archive = _Archive(file)
    for piece in archive.pieces():
        end.add(piece)
    end.trim()
    complete = not end.begins_late and not archive.fault
    return LogChunk(bytes(end.data), complete, end.lines_before, end.begins_line, archive.fault)


class _LastBytes:
    """The last bytes of a stream, and the number of lines before them."""

    def __init__(self, size: int) -> None:
        self.data = bytearray()
        self.lines_before = 0
        self.begins_line = True
        self.begins_late = False  # bytes before ``data`` were dropped
        self._size = size

    def add(self, piece: bytes) -> None:
        self.data += piece
        if len(self.data) >= 2 * self._size:  # rarely, because trimming moves the remaining bytes
            self.trim()

    def trim(self) -> None:
        excess = len(self.data) - self._size
        if excess > 0:
            self.lines_before += self.data.count(b"\n", 0, excess)
            self.begins_line = self.data.endswith(b"\n", 0, excess)
            self.begins_late = True
            del self.data[:excess]


class _Archive:
    """One pass through a compressed file, up to its end, its first fault, or the limits."""

    def __init__(self, file: RegularFile) -> None:
        self.fault = ""  # why the pass ended early; completes a sentence that starts with the path
        self._file = file
        self._decompressed = 0  # bytes

    def pieces(self) -> Iterator[bytes]:
        """Yield the decompressed content; sets ``fault`` if the pass ends early."""
        source = _Source(self._file)
        try:
            for count, piece in enumerate(_decompress(source)):
                self._decompressed += len(piece)
                yield piece
                if count > _MAX_PIECES or self._decompressed > _MAX_DECOMPRESSED:
                    self.fault = _TOO_MUCH
                    return
        except EOFError:
            self.fault = _TRUNCATED if self._file.size <= _MAX_COMPRESSED else _TOO_MUCH
        except BadGzipFile:
            self.fault = _DAMAGED
        except zlib.error:
            self.fault = _DAMAGED
            yield self._up_to_damage(source.offset)

    def _up_to_damage(self, offset: int) -> bytes:
        """Return the output that zlib discarded with the failed call, by feeding it single bytes instead."""
        found = bytearray()
        position = 0
        with suppress(zlib.error):
            for piece in _decompress(_Source(self._file, single_bytes_from=offset)):
                position += len(piece)
                if position > self._decompressed:
                    found += piece[self._decompressed - position :]
        return bytes(found)


class _Source(RawIOBase):
    """The compressed bytes as GzipFile reads them: in order, and at most ``_MAX_COMPRESSED`` of them."""

    def __init__(self, file: RegularFile, single_bytes_from: int = _MAX_COMPRESSED) -> None:
        self.offset = 0  # where the latest call of read() started
        self._file = file
        # GzipFile skips zeros at the end one by one, so only those that may belong to the archive are read
        self._end = min(end_of_text(file) + _STEP, _MAX_COMPRESSED)
        self._single_bytes_from = single_bytes_from
        self._next = 0

    def read(self, size: int = -1, /) -> bytes:
        """Return up to ``size`` bytes; none at the end."""
        self.offset = self._next
        most = 1 if self.offset >= self._single_bytes_from else size
        data = self._file.read_at(self.offset, min(most, self._end - self.offset))
        self._next += len(data)
        return data


def _decompress(source: _Source) -> Iterator[bytes]:
    """Yield the content in pieces.

    Raises:
        EOFError: the file ends too early.
        BadGzipFile: a header or a checksum is wrong.
        zlib.error: the compressed data are damaged.
    """
    with GzipFile(fileobj=source) as stream:
        while piece := stream.read1(_STEP):
            yield piece


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
