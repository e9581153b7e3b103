"""Read a zip archive from its start, so that one whose end is missing, or is being written, can be read too.

Format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT. Zstandard (method 93) is unpacked by the
system's libzstd, which most Linux systems have; Python has it from 3.14 on.
"""

from __future__ import annotations

import ctypes
import struct
import zlib
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.observe.trackers.protobuf import Damaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.observe.trackers.files import OpenFile

_HEAD = struct.Struct("<4s2xHH4xIIIHH")  # flags, method, checksum, sizes; lengths of the name and the extras
_ENTRY, _DIRECTORY = b"PK\x03\x04", b"PK\x01\x02"
_STORED, _DEFLATED, ZSTANDARD = 0, 8, 93
_IS_STREAMED = 0x8  # then the sizes follow the data
_UNKNOWN = 0xFFFFFFFF  # of files of more than 4 GiB, which no log has
_MAX_PACKED, _MAX_UNPACKED = 2**22, 2**24


class Entry(NamedTuple):
    """A file in an archive."""

    end: int  # where the next one begins
    name: str
    method: int
    checksum: int
    size: int  # bytes, unpacked
    data_at: int

    def content(self, file: OpenFile) -> bytes | None:
        """Return what is in it; None if that is too large, damaged, or packed in an unknown way."""
        packed_size = self.end - self.data_at
        if packed_size > _MAX_PACKED or self.size > _MAX_UNPACKED:
            return None
        packed = file.read_at(self.data_at, packed_size)
        content = _unpacked(packed, self.method, self.size)
        return content if content is not None and zlib.crc32(content) == self.checksum else None


def entries(file: OpenFile, at: int) -> Iterator[Entry]:
    """Yield the whole files of an archive from the one that begins ``at`` this byte.

    Raises:
        Damaged: what follows is neither a file nor the archive's directory.
    """
    while file.left > 0 and at + _HEAD.size <= file.size:
        signature, flags, method, checksum, packed, size, name_size, extras_size = _HEAD.unpack(
            file.read_at(at, _HEAD.size)
        )
        if signature != _ENTRY:
            if signature == _DIRECTORY:
                return
            raise Damaged(f"has no zip entry at byte {at:,}: what follows is not read")
        if _UNKNOWN in (packed, size) or (flags & _IS_STREAMED and not packed):
            raise Damaged(f"has a zip entry of unknown size at byte {at:,}: what follows is not read")
        data_at = at + _HEAD.size + name_size + extras_size
        at = data_at + packed
        if at > file.size:  # it is still written
            return
        name = file.read_at(data_at - name_size - extras_size, name_size).decode("utf-8", "replace")
        yield Entry(at, name, method, checksum, size, data_at)


def can_unpack(method: int) -> bool:
    """Whether what is packed like this can be read here."""
    return method in (_STORED, _DEFLATED) or (method == ZSTANDARD and _libzstd() is not None)


def _unpacked(packed: bytes, method: int, size: int) -> bytes | None:
    if method == _STORED:
        return packed
    if method == _DEFLATED:
        try:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, size + 1)
        except zlib.error:
            return None
    library = _libzstd()
    if method != ZSTANDARD or library is None:
        return None
    room = ctypes.create_string_buffer(size)
    written = library.ZSTD_decompress(room, size, packed, len(packed))
    return room.raw[:written] if not library.ZSTD_isError(written) else None


@cache
def _libzstd() -> ctypes.CDLL | None:
    """Return the library, https://facebook.github.io/zstd/zstd_manual.html; None if it is not installed."""
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        return None
    library.ZSTD_decompress.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_isError.argtypes = (ctypes.c_size_t,)
    return library
