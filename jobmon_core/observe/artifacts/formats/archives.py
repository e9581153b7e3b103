"""Check archives and compressed files: zip, which torch.save, npz and Keras write, gzip, tar and Zstandard.

Of a large archive, only headers and as many members as ``max_bytes`` allow are read.
"""

from __future__ import annotations

import io
import os
import struct
import tarfile
import zipfile
import zlib
from copy import copy
from typing import TYPE_CHECKING

from jobmon_core.observe.artifacts.formats.arrays import check_npy
from jobmon_core.observe.artifacts.formats.source import (
    Corrupt,
    Ends,
    NotChecked,
    Truncated,
    number_at,
    valid,
)
from jobmon_core.observe.logs.gzip_stream import inflated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.domain.artifacts.model import FileCheck
    from jobmon_core.observe.artifacts.formats.source import Source

_OUTPUT = 2**18  # bytes that are unpacked at once
_MAX_READ = 2**21  # bytes that a directory or an extended header may have


class _TooLarge(NotChecked):
    """Headers that would fill the memory."""


class _Stream(io.RawIOBase):
    """Refuses to fill the memory."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._at = 0

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self._at = offset + {os.SEEK_CUR: self._at, os.SEEK_END: self._source.size}.get(whence, 0)
        if self._at < 0:
            raise OSError("the offset is negative")
        return self._at

    def read(self, size: int = -1, /) -> bytes:
        """Return up to ``size`` bytes; raise `_TooLarge` for a header that is larger than jobmon reads."""
        left = max(0, self._source.size - self._at)
        count = left if size < 0 else min(size, left)
        if count > _MAX_READ:
            raise _TooLarge("has headers that are larger than jobmon reads")
        data = self._source.read_at(self._at, count)
        self._at += len(data)
        return data


ZIP_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")
_UNPACKED_PER_BYTE = 8  # so many unpacked bytes cost as much as one that is read
_NPY_HEAD = 2**16
_IS_ENCRYPTED = 0x1
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError)


def check_zip(source: Source, max_bytes: int) -> FileCheck:
    """Return the content of an archive, whose directory and headers are checked."""
    stream = _Stream(source)
    if not zipfile.is_zipfile(stream):
        raise Truncated("has no zip directory at its end")
    try:
        archive = zipfile.ZipFile(stream)
    except _TooLarge:
        return valid("zip", is_sampled=True)
    except _DAMAGE:
        raise Corrupt("is a zip archive with a damaged directory") from None
    left, is_sampled = max_bytes, False
    for member in archive.infolist():
        cost = max(member.compress_size, member.file_size // _UNPACKED_PER_BYTE)
        is_plain = member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        is_read = is_plain and cost <= left and not member.flag_bits & _IS_ENCRYPTED
        left -= cost if is_read else 0
        is_sampled |= not is_read
        try:
            _check_member(archive, member, is_read=is_read)
        except (NotChecked, NotImplementedError, RuntimeError):
            is_sampled = True  # of a file on another machine, only the ends are known; or it is encrypted
    return valid(_kind_of_zip(archive), is_sampled=is_sampled)


def _check_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, *, is_read: bool) -> None:
    """Check the place of a member and, if it is to be read, its checksum and the header of an array."""
    shown = ascii(member.filename)[:80]
    if member.header_offset + member.compress_size > archive.start_dir:
        raise Corrupt(f"is a zip archive whose member {shown} overlaps its directory")
    whole = copy(member)
    whole.file_size += 1  # else zipfile drops what a damaged member has beyond its size
    try:
        with archive.open(whole) as file:
            head = file.read(_NPY_HEAD) if is_read else b""
            while is_read and file.read(_OUTPUT):
                pass
    except _DAMAGE as error:
        what = "has a wrong checksum" if "CRC" in str(error) else "is damaged"
        raise Corrupt(f"is a zip archive whose member {shown} {what}") from None
    if is_read and member.filename.endswith(".npy"):
        try:
            check_npy(Ends(head, b"", member.file_size), 0)
        except (Truncated, Corrupt) as damage:
            raise Corrupt(f"has an array {shown} that {damage}") from None


def _kind_of_zip(archive: zipfile.ZipFile) -> str:
    names = {name.rpartition("/")[2] for name in archive.namelist()}
    if "data.pkl" in names:
        return "torch"
    if names and all(name.endswith(".npy") for name in names):
        return "npz"
    if {"config.json", "metadata.json"} <= names:
        return "keras"
    return "zip"


GZIP_SIGNATURE = b"\x1f\x8b\x08"
_INFLATED_PER_BYTE = 4  # as for zip; what a gzip file contains is read twice
_MAX_HEAD = 2**21


def unpack(source: Source, max_bytes: int) -> tuple[Source, bool]:
    """Check a gzip file, up to ``max_bytes``; return its content, or the start, and whether it is whole."""
    head, size = bytearray(), 0
    for data, read in _pieces_of_gzip(source):
        size += len(data)
        head += data[: max(0, _MAX_HEAD - len(head))]
        if max(read, size // _INFLATED_PER_BYTE) > max_bytes:
            return Ends(bytes(head), b"", len(head)), False
    return _Inflated(source, size), True


def _pieces_of_gzip(source: Source) -> Iterator[tuple[bytes, int]]:
    try:
        yield from inflated(source.read_at)
    except EOFError:
        raise Truncated("ends inside its compressed data") from None
    except zlib.error as error:
        raise Corrupt(f"is damaged gzip {error}") from None


class _Inflated:
    """To read forwards is cheap."""

    def __init__(self, source: Source, size: int) -> None:
        self.size = size
        self._source = source
        self._stream = inflated(source.read_at)
        self._piece = b""
        self._at = 0  # of the piece

    def read_at(self, offset: int, count: int) -> bytes:
        """Return ``count`` bytes, fewer only at the end."""
        if offset < self._at:
            self._stream, self._piece, self._at = inflated(self._source.read_at), b"", 0
        read = bytearray()
        while len(read) < count:
            begin = offset + len(read) - self._at
            read += self._piece[begin : begin + count - len(read)]
            if len(read) < count:
                self._at += len(self._piece)
                following = next(self._stream, None)
                if following is None:
                    break
                self._piece = following[0]
        return bytes(read)


_BLOCK = tarfile.BLOCKSIZE
_MAX_MEMBERS = 20_000  # whose headers are read


def is_tar(source: Source) -> bool:
    """Whether a file begins with the header of a member."""
    head = source.read_at(0, _BLOCK)
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return head[257:262] == b"ustar"


def check_tar(source: Source, max_bytes: int) -> FileCheck:  # noqa: ARG001 - all checks have this form
    """Return the content of a tar archive; the data of its members are not read.

    ``records`` counts the members; None if there are 20,000 or more.
    """
    members = 0
    try:
        archive = tarfile.TarFile(fileobj=_Stream(source))
        while members < _MAX_MEMBERS and archive.next():
            members += 1
    except (tarfile.TarError, ValueError, OSError):
        raise Truncated(f"ends inside member {max(1, members):,}: has {source.size:,} bytes") from None
    if members >= _MAX_MEMBERS:
        if source.read_at(source.size - _BLOCK, _BLOCK).strip(b"\0"):
            raise Truncated("lacks the end-of-archive marker")
        return valid("tar", is_sampled=True)
    # tarfile accepts anything after the first header as the end
    end = source.read_at(archive.offset, _BLOCK)
    if len(end) < _BLOCK:
        raise Truncated(f"ends after {members:,} members without the end-of-archive marker")
    if end.strip(b"\0"):
        raise Corrupt(f"has a damaged header after {members:,} members")
    return valid("tar", members, is_sampled=True)


ZSTD_SIGNATURE = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = 0x184D2A50  # RFC 8878; up to 0x184D2A5F: they begin frames of data that no reader needs
_MAX_BLOCKS = 50_000
_RAW, _REPEATED, _PACKED, _RESERVED = range(4)


def check_zstd(source: Source, max_bytes: int) -> FileCheck:  # noqa: ARG001 - all checks have this form
    """Return the content of a Zstandard file, whose data are not unpacked."""
    at, left = 0, _MAX_BLOCKS
    while at < source.size:
        magic = number_at(source.read_at(at, 4), 0, 4)
        if magic & ~0xF == _SKIPPABLE:
            at += 8 + number_at(source.read_at(at + 4, 4), 0, 4)
            left -= 1
        elif magic.to_bytes(4, "little") == ZSTD_SIGNATURE:
            at, left = _frame_end(source, at + 4, left)
        else:
            raise Corrupt(f"is damaged zstd: no frame begins at byte {at:,}")
        if left <= 0:
            break
        if at > source.size:
            raise Truncated(f"has {source.size:,} of at least {at:,} bytes")
    return valid("zstd", is_sampled=True)


def _frame_end(source: Source, at: int, left: int) -> tuple[int, int]:
    flags = number_at(source.read_at(at, 1), 0, 1)
    is_single = bool(flags & 0x20)
    sizes = (int(is_single), 2, 4, 8)
    at += 1 + (not is_single) + (0, 1, 2, 4)[flags & 3] + sizes[flags >> 6]
    is_last = False
    while not is_last and left > 0 and at <= source.size:
        head = number_at(source.read_at(at, 3), 0, 3)
        is_last, kind, length = bool(head & 1), head >> 1 & 3, head >> 3
        if kind == _RESERVED:
            raise Corrupt(f"is damaged zstd near byte {at:,}")
        at += 3 + (1 if kind == _REPEATED else length)
        left -= 1
    return at + (4 if flags & 4 and is_last else 0), left
