"""Check gzip (RFC 1952) by unpacking it, and read what it contains."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.observe.artifacts.formats.source import PIECE, Bytes, Corrupt, Truncated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.observe.artifacts.formats.source import Source

SIGNATURE = b"\x1f\x8b\x08"
_GZIP = zlib.MAX_WBITS + 16  # with the header and the checksum of gzip
_INFLATED = 4  # so many unpacked bytes cost as much as one that is read
_OUTPUT = 2**18  # bytes that are unpacked at once
_MAX_HEAD = 2**21


class Unpacked(NamedTuple):
    """What a gzip file contains; of a large one, only the start."""

    content: Source
    is_whole: bool


def unpack(source: Source, max_bytes: int) -> Unpacked:
    """Check a gzip file, up to ``max_bytes``, and return what it contains.

    Raises:
        Truncated: its end is missing.
        Corrupt: it is damaged.
    """
    head, size, read = bytearray(), 0, 0
    for data, read in _inflated(source):
        size += len(data)
        head += data[: max(0, _MAX_HEAD - len(head))]
        if max(read, size // _INFLATED) > max_bytes:
            return Unpacked(Bytes(bytes(head)), is_whole=False)
    return Unpacked(Inflated(source, size), is_whole=True)


class Inflated:
    """The content of a gzip file that has no damage. To read forwards is cheap."""

    def __init__(self, source: Source, size: int) -> None:
        """``size`` is that of the whole content."""
        self.size = size
        self._source = source
        self._stream = _inflated(source)
        self._piece = b""
        self._at = 0  # of the piece

    def read_at(self, offset: int, count: int) -> bytes:
        """Return ``count`` bytes, fewer only at the end."""
        if offset < self._at:
            self._stream, self._piece, self._at = _inflated(self._source), b"", 0
        read = bytearray()
        while len(read) < count:
            begin = offset + len(read) - self._at
            read += self._piece[begin : begin + count - len(read)]
            if len(read) < count:
                self._at += len(self._piece)
                self._piece = next(self._stream, (b"", 0))[0]
                if not self._piece:
                    break
        return bytes(read)


def _inflated(source: Source) -> Iterator[tuple[bytes, int]]:
    """Yield the content in pieces that are not empty, each with the number of bytes read so far."""
    at, inflater = 0, zlib.decompressobj(_GZIP)
    try:
        while piece := source.read_at(at, PIECE):
            at += len(piece)
            while piece:
                if inflater.eof:  # another member may follow, or zeros up to the end of a block
                    piece = piece.lstrip(b"\0")
                    if not piece:
                        break
                    inflater = zlib.decompressobj(_GZIP)
                data = inflater.decompress(piece, _OUTPUT)
                if data:
                    yield data, at
                piece = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
    except zlib.error as error:
        raise Corrupt(f"is damaged gzip near byte {at:,}: {_reason(error)}") from None
    if not inflater.eof:
        raise Truncated("ends inside its compressed data")


def _reason(error: zlib.error) -> str:
    return str(error).rpartition(": ")[2]
