"""Logs packed by gzip, read as a stream: neither their size nor what they unpack to costs memory."""

from __future__ import annotations

import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.observe.logs.byte_ranges import ByteRange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.observe.logs.open_file import RegularFile

_MAGIC = b"\x1f\x8b\x08"
_GZIP = 16 + zlib.MAX_WBITS  # how zlib is told that a gzip header comes first
_STEP = 64 * 1024  # bytes that are read, or unpacked, at once
_LINE_END = ord("\n")
# a second or two of work; what unpacks to more is a bomb, or a log that nobody packs as a whole
_MOST_PACKED = 64 * 2**20
_MOST_UNPACKED = 512 * 2**20
_MOST_MEMBERS = 10_000

_CUT_OFF = "is packed and was cut off"
_DAMAGED = "is packed and damaged: it was read up to the damage"
_TOO_MUCH = "is packed and unpacks to too much: only its beginning was read"


def is_packed(file: RegularFile) -> bool:
    """Tell whether a file was packed by gzip, whatever its name.

    Raises:
        OSError: the storage or its server failed.
    """
    return file.read_at(0, len(_MAGIC)) == _MAGIC


def unpacked_start(file: RegularFile, max_bytes: int) -> ByteRange:
    """Return the first ``max_bytes`` of what a file unpacks to.

    Raises:
        OSError: the storage or its server failed.
    """
    kept = bytearray()
    unpacking = _Unpacking(file)
    for piece in unpacking.pieces():
        kept += piece
        if len(kept) > max_bytes:
            break
    complete = len(kept) <= max_bytes and not unpacking.fault
    return ByteRange(bytes(kept[:max_bytes]), complete, note=unpacking.fault)


def unpacked_end(file: RegularFile, max_bytes: int) -> ByteRange:
    """Return the last ``max_bytes`` of what a file unpacks to, or of what could be unpacked.

    Raises:
        OSError: the storage or its server failed.
    """
    window = _Window(max_bytes)
    unpacking = _Unpacking(file)
    for piece in unpacking.pieces():
        window.add(piece)
    return window.passage(unpacking.fault)


class _Window:
    """The last bytes of a stream."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept = bytearray()
        self._passed_lines = 0
        self._begins_line = True
        self._whole = True

    def add(self, piece: bytes) -> None:
        self._kept += piece
        if len(self._kept) >= 2 * self._size:  # seldom, as what is left must be moved
            self._trim()

    def passage(self, fault: str) -> ByteRange:
        self._trim()
        whole = self._whole and not fault
        return ByteRange(bytes(self._kept), whole, self._passed_lines, self._begins_line, fault)

    def _trim(self) -> None:
        excess = len(self._kept) - self._size
        if excess > 0:
            self._passed_lines += self._kept.count(b"\n", 0, excess)
            self._begins_line = self._kept[excess - 1] == _LINE_END
            self._whole = False
            del self._kept[:excess]


class _Unpacking:
    """One pass through a packed file, which ends with the file, at its first fault, or at our bounds."""

    def __init__(self, file: RegularFile) -> None:
        self.fault = ""  # why it ended early, as the end of a sentence on the path
        self._file = file
        self._stream = zlib.decompressobj(_GZIP)
        self._members = 0
        self._between_members = True

    def pieces(self) -> Iterator[bytes]:
        """Unpack, a piece of bounded size at a time."""
        unpacked = 0
        for piece in self._pieces():
            yield piece
            unpacked += len(piece)
            if unpacked > _MOST_UNPACKED or self._members > _MOST_MEMBERS:
                self.fault = _TOO_MUCH
            if self.fault:
                return

    def _pieces(self) -> Iterator[bytes]:
        for offset in range(0, min(self._file.size, _MOST_PACKED), _STEP):
            packed = self._file.read_at(offset, _STEP)
            while packed := self._from_member(packed):
                piece, packed = self._step(packed)
                yield piece
        if self._file.size > _MOST_PACKED:
            self.fault = _TOO_MUCH
        elif not self._between_members:
            self.fault = _CUT_OFF

    def _from_member(self, packed: bytes) -> bytes:
        """Skip the zeros that tapes and file systems leave between members and behind the last."""
        packed = packed.lstrip(b"\x00") if self._between_members else packed
        self._between_members = self._between_members and not packed
        return packed

    def _step(self, packed: bytes) -> tuple[bytes, bytes]:
        """Unpack one piece; return it, and what of ``packed`` is still to be done."""
        before = self._stream.copy()
        try:
            piece = self._stream.decompress(packed, _STEP)
        except zlib.error:
            self._stream = before
            self.fault = _DAMAGED
            return self._up_to_the_damage(packed), b""
        if not self._stream.eof:
            return piece, self._stream.unconsumed_tail
        rest = self._stream.unused_data
        self._stream = zlib.decompressobj(_GZIP)
        self._members += 1
        self._between_members = True
        return piece, rest

    def _up_to_the_damage(self, packed: bytes) -> bytes:
        """Unpack byte by byte, since zlib keeps what it has of a call that fails."""
        unpacked = bytearray()
        with suppress(zlib.error):
            for position in range(len(packed)):
                unpacked += self._stream.decompress(packed[position : position + 1], _STEP)
        return bytes(unpacked)
