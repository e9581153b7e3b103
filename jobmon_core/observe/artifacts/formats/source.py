"""What the checks of all formats share: the bytes that they read, and their results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from jobmon_core.domain.artifacts.model import FileCheck, FileVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE = 2**16  # bytes read at once


class Source(Protocol):
    """Bytes that are read by position."""

    @property
    def size(self) -> int:
        """The number of bytes."""

    def read_at(self, offset: int, count: int) -> bytes:
        """Return ``count`` bytes, fewer only at the end."""


@dataclass(frozen=True, slots=True)
class Ends:
    """The start and the end of a file, or all of it; what lies between is not known."""

    head: bytes
    tail: bytes
    size: int

    def read_at(self, offset: int, count: int) -> bytes:
        """Return bytes that are known; raise `NotChecked` for others."""
        end, tail_at = min(offset + count, self.size), self.size - len(self.tail)
        if end <= len(self.head):
            return self.head[offset:end]
        if offset >= tail_at:
            return self.tail[offset - tail_at : end - tail_at]
        raise NotChecked("is on another machine: only its start and its end were read")


def valid(
    kind: str,
    records: int | None = None,
    columns: int | None = None,
    note: str = "",
    *,
    is_sampled: bool = False,
) -> FileCheck:
    """Return the verdict on a file without damage; `check_source` adds its path and its size."""
    return FileCheck(
        "", kind, FileVerdict.VALID, records=records, columns=columns, note=note, is_sampled=is_sampled
    )


class Damaged(Exception):
    """A file that is not whole. The text completes a sentence that starts with its path."""


class Truncated(Damaged):
    """The end of a file is missing."""


class Corrupt(Damaged):
    """A file whose bytes contradict its format."""


class NotChecked(Exception):
    """A file that jobmon cannot judge, e.g. of an unknown format."""


def pieces(source: Source, begin: int, end: int) -> Iterator[bytes]:
    """Yield the bytes from ``begin`` to ``end`` in pieces of bounded size."""
    while begin < end:
        piece = source.read_at(begin, min(PIECE, end - begin))
        if not piece:
            return
        yield piece
        begin += len(piece)


def number_at(data: bytes, offset: int, length: int) -> int:
    """Return an unsigned little-endian number."""
    piece = data[offset : offset + length]
    if len(piece) < length:
        raise Truncated("ends inside its header")
    return int.from_bytes(piece, "little")


def expect_size(size: int, needed: int) -> None:
    """Raise `Truncated` if a file has fewer bytes than it needs."""
    if size < needed:
        raise Truncated(f"has {size:,} of {needed:,} bytes")
