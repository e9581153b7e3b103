"""Check HDF5 files by their superblock (HDF5 File Format Specification, section II.A) and root group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.observe.artifacts.formats.source import (
    Corrupt,
    NotChecked,
    Truncated,
    expect_size,
    number_at,
    valid,
)

if TYPE_CHECKING:
    from jobmon_core.domain.artifacts.model import FileCheck
    from jobmon_core.observe.artifacts.formats.source import Source

SIGNATURE = b"\x89HDF\r\n\x1a\n"
_PLACES = (0, 512, 1024, 2048, 4096)  # of the superblock: a user block of such a size may precede it
_SUPERBLOCK = 256  # bytes, more than any version has
_OPEN_FOR_WRITING = 0x01
_VERSION_1, _VERSION_2, _VERSION_3 = 1, 2, 3
_OFFSET_SIZES = (2, 4, 8)
_NOT_CLOSED = "was not closed by the program that wrote it"
_CACHED_GROUP = 1  # the type of a symbol table entry that holds the places of a B-tree and a heap


def find_superblock(source: Source) -> int | None:
    """Return where the superblock begins; None if the file is not HDF5."""
    return next((place for place in _PLACES if source.read_at(place, len(SIGNATURE)) == SIGNATURE), None)


def check_hdf5(source: Source, max_bytes: int) -> FileCheck:  # noqa: ARG001 - all checks have this form
    """Return the content of an HDF5 file; the data of its datasets are not read."""
    start = find_superblock(source) or 0
    block = source.read_at(start, _SUPERBLOCK)
    version = number_at(block, len(SIGNATURE), 1)
    if version > _VERSION_3:
        raise NotChecked(f"has a newer HDF5 superblock (version {version})")
    end, places = _new_superblock(block) if version >= _VERSION_2 else _old_superblock(block, version)
    expect_size(source.size - start, end)
    if not all(source.read_at(start + address, 4).startswith(known) for address, known in places):
        raise Corrupt("is HDF5 without a root group where its header says it is")
    return valid("hdf5", is_sampled=True)


# of the file, and where a structure must begin in it, with how that may begin
_Superblock = tuple[int, tuple[tuple[int, tuple[bytes, ...]], ...]]
_GROUP = (b"OHDR", b"\x01\x00")


def _old_superblock(block: bytes, version: int) -> _Superblock:
    length = _offset_size(number_at(block, 13, 1))
    at = 24 + (4 if version == _VERSION_1 else 0)
    entry = at + 4 * length
    end = number_at(block, at + 2 * length, length) - number_at(block, at, length)
    root = number_at(block, entry + length, length)
    _expect_closed(length, end, root)
    if number_at(block, entry + 2 * length, 4) != _CACHED_GROUP:
        return end, ((root, _GROUP),)
    scratch = entry + 2 * length + 8
    tree, heap = number_at(block, scratch, length), number_at(block, scratch + length, length)
    return end, ((tree, (b"TREE",)), (heap, (b"HEAP",)), (root, _GROUP))


def _new_superblock(block: bytes) -> _Superblock:
    length = _offset_size(number_at(block, 9, 1))
    end = number_at(block, 12 + 2 * length, length) - number_at(block, 12, length)
    root, stop = number_at(block, 12 + 3 * length, length), 12 + 4 * length
    if number_at(block, stop, 4) != lookup3(block[:stop]):
        raise Corrupt("is HDF5 whose header has a wrong checksum")
    if number_at(block, 11, 1) & _OPEN_FOR_WRITING:
        raise Truncated(_NOT_CLOSED)
    _expect_closed(length, end, root)
    return end, ((root, _GROUP),)


def _offset_size(length: int) -> int:
    if length not in _OFFSET_SIZES:
        raise Corrupt("is HDF5 with an impossible header")
    return length


def _expect_closed(length: int, end: int, root: int) -> None:
    undefined = 2 ** (8 * length) - 1
    if undefined in (end, root) or end <= 0:
        raise Truncated(_NOT_CLOSED)


def lookup3(data: bytes) -> int:
    """Return the checksum of HDF5's metadata: Bob Jenkins's hashlittle() with an initial value of 0."""
    a = b = c = (0xDEADBEEF + len(data)) & 0xFFFFFFFF
    while len(data) > 12:  # noqa: PLR2004 - the algorithm takes 12 bytes a round
        a, b, c = _mix(*_added(a, b, c, data))
        data = data[12:]
    if not data:
        return c
    data = data.ljust(12, b"\0")
    a, b, c = _added(a, b, c, data)
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - _rotated(b, bits)) & 0xFFFFFFFF
        a, b, c = b, c, a
    return b  # c of the last round, which the rotation moved here


def _added(a: int, b: int, c: int, data: bytes) -> tuple[int, int, int]:
    first, second, third = (int.from_bytes(data[at : at + 4], "little") for at in (0, 4, 8))
    return (a + first) & 0xFFFFFFFF, (b + second) & 0xFFFFFFFF, (c + third) & 0xFFFFFFFF


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    for bits in (4, 6, 8, 16, 19, 4):
        a = ((a - c) & 0xFFFFFFFF) ^ _rotated(c, bits)
        c = (c + b) & 0xFFFFFFFF
        a, b, c = b, c, a
    return a, b, c


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & 0xFFFFFFFF
