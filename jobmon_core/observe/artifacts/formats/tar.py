"""Check tar archives (POSIX.1-2017 pax, and GNU's extensions) by walking from header to header."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.observe.artifacts.formats.source import Content, Corrupt, Truncated

if TYPE_CHECKING:
    from jobmon_core.observe.artifacts.formats.source import Source

BLOCK = 512
_ZEROS = bytes(BLOCK)
_MAX_MEMBERS = 20_000  # whose headers are read
_MAX_RECORDS = 2**16  # bytes of extended headers that are read
_PAX_SIZE = re.compile(rb"(?:^|\n)\d+ size=(\d{1,19})\n")
_PAX, _GNU_SPARSE = b"x", b"S"
_WITHOUT_DATA = b"123456"  # links, devices, folders, pipes


def is_tar(source: Source) -> bool:
    """Whether a file begins with the header of a member."""
    head = source.read_at(0, BLOCK)
    return head[257:262] == b"ustar" and _has_checksum(head)


def check_tar(source: Source, max_bytes: int) -> Content:  # noqa: ARG001 - all checks have this form
    """Return the content of a tar archive; the data of its members are not read.

    ``records`` counts the members; None if there are 20,000 headers or more.
    """
    at, members, size = 0, 0, None
    for _ in range(_MAX_MEMBERS):
        header = source.read_at(at, BLOCK)
        if header == _ZEROS:
            return Content("tar", members, is_sampled=True)
        if len(header) < BLOCK:
            raise Truncated(f"ends after {members:,} members without the end-of-archive marker")
        if not _has_checksum(header):
            raise Corrupt(f"has a damaged header after {members:,} members")
        kind = header[156:157]
        length = _size(header) if size is None else size
        begin = at + BLOCK + _sparse_blocks(source, at, header)
        size = _pax_size(source, begin, length) if kind == _PAX else None
        members += kind not in b"xgLK"
        at = begin + (0 if kind in _WITHOUT_DATA else -(-length // BLOCK) * BLOCK)
        if at > source.size:
            raise Truncated(f"ends inside member {members:,}: has {source.size:,} of at least {at:,} bytes")
    if source.read_at(source.size - BLOCK, BLOCK) != _ZEROS:
        raise Truncated("lacks the end-of-archive marker")
    return Content("tar", is_sampled=True)


def _has_checksum(header: bytes) -> bool:
    """Whether the checksum is right: the sum of the bytes, with spaces in the place of the checksum."""
    try:
        expected = int(header[148:156].strip(b" \0") or b"-1", 8)
    except ValueError:
        return False
    return sum(header) - sum(header[148:156]) + 8 * ord(" ") == expected


def _size(header: bytes) -> int:
    """Return the size of a member: octal digits, or by GNU a binary number after a byte of 0x80."""
    field = header[124:136]
    if field[0] == 0x80:  # noqa: PLR2004 - GNU's mark of a binary number
        return int.from_bytes(field[1:], "big")
    try:
        size = int(field.strip(b" \0") or b"0", 8)
    except ValueError:
        size = -1
    if size < 0:
        raise Corrupt("has a member without a valid size")
    return size


def _pax_size(source: Source, begin: int, length: int) -> int | None:
    """Return the size of the next member if an extended header gives it, as for those over 8 GiB."""
    found = _PAX_SIZE.search(source.read_at(begin, min(length, _MAX_RECORDS)))
    return int(found[1]) if found else None


def _sparse_blocks(source: Source, at: int, header: bytes) -> int:
    """Return how many bytes the further headers of an old GNU sparse member take."""
    if header[156:157] != _GNU_SPARSE or not header[482]:
        return 0
    length = 0
    while length < _MAX_RECORDS:
        length += BLOCK
        block = source.read_at(at + length, BLOCK)
        if len(block) < BLOCK or not block[504]:
            return length
    raise Corrupt("has a sparse member with too many parts")
