"""Unpack gzip (RFC 1952) as a stream, so that no file fills the memory."""

from __future__ import annotations

import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PIECE = 2**16  # bytes that are read at once
_OUTPUT = 2**18  # bytes that are unpacked at once
_GZIP = zlib.MAX_WBITS + 16  # with the header and the checksum of gzip


def inflated(read_at: Callable[[int, int], bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield the content in pieces, of which some may be empty, each with the number of bytes read so far.

    ``read_at`` returns so many bytes from an offset on, fewer only at the end.

    Raises:
        EOFError: the file ends inside its compressed data.
        zlib.error: it is damaged there; all content before the damage was yielded.
    """
    at, inflater = 0, zlib.decompressobj(_GZIP)
    while piece := read_at(at, _PIECE):
        at += len(piece)
        while piece:
            if inflater.eof:  # another member may follow, or zeros up to the end of a block
                piece = piece.lstrip(b"\0")
                if not piece:
                    break
                inflater = zlib.decompressobj(_GZIP)
            before = inflater.copy()
            try:
                data = inflater.decompress(piece, _OUTPUT)
            except zlib.error as error:
                yield _up_to_damage(before, piece), at
                raise zlib.error(f"near byte {at:,}: {str(error).rpartition(': ')[2]}") from None
            yield data, at
            piece = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
    if not inflater.eof:
        raise EOFError


def _up_to_damage(inflater: zlib._Decompress, piece: bytes) -> bytes:
    """Return the output that zlib discards with a call that fails, by feeding it single bytes."""
    found = bytearray()
    with suppress(zlib.error):  # the caller raises it, with the place
        for index in range(len(piece)):
            found += inflater.decompress(piece[index : index + 1])
    return bytes(found)
