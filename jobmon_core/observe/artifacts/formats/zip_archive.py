"""Check zip archives, which files of torch.save, npz and Keras are, without unpacking more than a little.

Format: PKWARE's APPNOTE.TXT. `zipfile` is not used: it reads the whole central directory, however large.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.observe.artifacts.formats.npy import check_npy
from jobmon_core.observe.artifacts.formats.source import (
    Content,
    Corrupt,
    Head,
    NotChecked,
    Truncated,
    number_at,
    pieces,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.observe.artifacts.formats.source import Source

SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")
_END, _END_LENGTH = b"PK\x05\x06", 22
_LOCATOR, _LOCATOR_LENGTH = b"PK\x06\x07", 20
_END_64, _END_64_LENGTH = b"PK\x06\x06", 56
_ENTRY, _ENTRY_LENGTH = b"PK\x01\x02", 46
_LOCAL, _LOCAL_LENGTH = b"PK\x03\x04", 30
_MAX_COMMENT = 2**16
_MAX_ENTRIES = 20_000
_MAX_DIRECTORY = 4 * 2**20  # bytes that are read
_UNKNOWN = 0xFFFFFFFF  # an extra field has the value
_STORED, _DEFLATED = 0, 8
_INFLATED = 8  # so many unpacked bytes cost as much as one that is read
_NPY_HEAD = 2**16
_OUTPUT = 2**18  # bytes that are unpacked at once


class _Entry(NamedTuple):
    name: str
    method: int
    crc: int
    packed: int  # bytes in the archive
    size: int
    at: int  # of its local header


class _Directory(NamedTuple):
    at: int
    size: int
    members: int
    shift: int  # bytes before the archive, e.g. of a program that unpacks it


def check_zip(source: Source, max_bytes: int) -> Content:
    """Return the content of an archive, whose directory and headers are checked.

    The data of as many members are checked as ``max_bytes`` allow.
    """
    directory = _directory(source)
    entries = list(_entries(source, directory))
    left, is_sampled = max_bytes, len(entries) < directory.members
    for entry in entries:
        try:
            begin = _data_begin(source, entry, directory)
        except NotChecked:  # of a file on another machine, only the ends are known
            is_sampled = True
            continue
        cost = max(entry.packed, entry.size // _INFLATED)
        if entry.method not in (_STORED, _DEFLATED) or cost > left:
            is_sampled = True
            continue
        left -= cost
        _check_data(source, entry, begin)
        if entry.name.endswith(".npy"):
            _check_array(source, entry, begin)
    names = {entry.name.rpartition("/")[2] for entry in entries}
    return Content(_kind(names), is_sampled=is_sampled)


def _kind(names: set[str]) -> str:
    if "data.pkl" in names:
        return "torch"
    if names and all(name.endswith(".npy") for name in names):
        return "npz"
    return "keras" if {"config.json", "metadata.json"} <= names else "zip"


def _directory(source: Source) -> _Directory:
    """Find the central directory at the end."""
    begin = max(0, source.size - _MAX_COMMENT - _END_LENGTH)
    tail = source.read_at(begin, source.size - begin)
    found = tail.rfind(_END)
    if found < 0 or len(tail) - found < _END_LENGTH:
        raise Truncated("has no zip directory at its end")
    count, size, at = (
        number_at(tail, found + 10, 2),
        number_at(tail, found + 12, 4),
        number_at(tail, found + 16, 4),
    )
    end = begin + found
    if source.read_at(max(0, end - _LOCATOR_LENGTH), _LOCATOR_LENGTH).startswith(_LOCATOR):
        end, count, size, at = _directory_64(source, end)
    shift = end - size - at
    if shift < 0:
        raise Corrupt("is a zip archive from which bytes are missing")
    return _Directory(at + shift, size, count, shift)


def _directory_64(source: Source, end: int) -> tuple[int, int, int, int]:
    """Return where the zip64 directory ends, its count, size and offset."""
    record_at = end - _LOCATOR_LENGTH - _END_64_LENGTH
    record = source.read_at(max(0, record_at), _END_64_LENGTH)
    if not record.startswith(_END_64) or len(record) < _END_64_LENGTH:
        raise Corrupt("is a zip archive with a damaged directory")
    return record_at, number_at(record, 32, 8), number_at(record, 40, 8), number_at(record, 48, 8)


def _entries(source: Source, directory: _Directory) -> Iterator[_Entry]:
    """Yield the entries in the first 4 MiB of the central directory, at most 20,000."""
    data = source.read_at(directory.at, min(directory.size, _MAX_DIRECTORY))
    at = 0
    for _ in range(min(directory.members, _MAX_ENTRIES)):
        head = data[at : at + _ENTRY_LENGTH]
        lengths = [number_at(head, place, 2) for place in (28, 30, 32)] if len(head) == _ENTRY_LENGTH else [0]
        if len(data) == _MAX_DIRECTORY and at + _ENTRY_LENGTH + sum(lengths) > len(data):
            return
        if len(head) < _ENTRY_LENGTH or not head.startswith(_ENTRY):
            raise Corrupt("is a zip archive with a damaged directory")
        name_end = at + _ENTRY_LENGTH + lengths[0]
        name = data[at + _ENTRY_LENGTH : name_end].decode("utf-8", "replace")
        yield _entry(head, name, data[name_end : name_end + lengths[1]])
        at += _ENTRY_LENGTH + sum(lengths)


def _entry(head: bytes, name: str, extra: bytes) -> _Entry:
    size, packed, at = number_at(head, 24, 4), number_at(head, 20, 4), number_at(head, 42, 4)
    if _UNKNOWN in (size, packed, at):
        wide = _extra_64(extra)
        size, packed, at = (
            (wide.pop(0) if wide else value) if value == _UNKNOWN else value for value in (size, packed, at)
        )
    return _Entry(name, number_at(head, 10, 2), number_at(head, 16, 4), packed, size, at)


def _extra_64(extra: bytes) -> list[int]:
    """Return the numbers of the zip64 field, in the order in which the entry lacks them."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = number_at(extra, at, 2), number_at(extra, at + 2, 2)
        if kind == 1:
            field = extra[at + 4 : at + 4 + length]
            return [number_at(field, place, 8) for place in range(0, len(field) - 7, 8)]
        at += 4 + length
    return []


def _data_begin(source: Source, entry: _Entry, directory: _Directory) -> int:
    """Return where the data of a member begin, by its local header."""
    at = entry.at + directory.shift
    local = source.read_at(at, _LOCAL_LENGTH)
    if len(local) < _LOCAL_LENGTH or not local.startswith(_LOCAL):
        raise Corrupt(f"is a zip archive whose member {_shown(entry)} is not where its directory says")
    begin = at + _LOCAL_LENGTH + number_at(local, 26, 2) + number_at(local, 28, 2)
    if begin + entry.packed > directory.at:
        raise Corrupt(f"is a zip archive whose member {_shown(entry)} overlaps its directory")
    return begin


def _check_data(source: Source, entry: _Entry, begin: int) -> None:
    """Check the checksum of a member; at most one piece more is unpacked than the directory says."""
    crc, size = 0, 0
    for data in _unpacked(source, entry, begin):
        crc, size = zlib.crc32(data, crc), size + len(data)
        if size > entry.size:
            break
    if crc != entry.crc or size != entry.size:
        raise Corrupt(f"is a zip archive whose member {_shown(entry)} has a wrong checksum")


def _unpacked(source: Source, entry: _Entry, begin: int) -> Iterator[bytes]:
    """Yield the data of a member in pieces of bounded size."""
    if entry.method == _STORED:
        yield from pieces(source, begin, begin + entry.packed)
        return
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        for piece in pieces(source, begin, begin + entry.packed):
            rest = piece
            while data := inflater.decompress(rest, _OUTPUT):  # zlib may hold output after all input is read
                yield data
                rest = inflater.unconsumed_tail
            if inflater.eof:
                return
    except zlib.error:
        raise Corrupt(f"is a zip archive whose member {_shown(entry)} is damaged") from None


def _check_array(source: Source, entry: _Entry, begin: int) -> None:
    """Compare the header of an array with its size; the data themselves have a checksum."""
    head = next(_unpacked(source, entry._replace(packed=min(entry.packed, _NPY_HEAD)), begin), b"")
    try:
        check_npy(Head(head, entry.size), 0)
    except NotChecked:  # pickled objects: nothing to compare
        return
    except (Truncated, Corrupt) as damage:
        raise Corrupt(f"has an array {_shown(entry)} that {damage}") from None


def _shown(entry: _Entry) -> str:
    return ascii(entry.name)[:80]
