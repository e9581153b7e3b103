"""Check Parquet files by their footer, which is Thrift in its compact protocol, and count their rows.

Formats: apache/parquet-format (README, parquet.thrift), apache/thrift (thrift-compact-protocol.md).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from jobmon_core.observe.artifacts.formats.source import Corrupt, Truncated, valid

if TYPE_CHECKING:
    from jobmon_core.domain.artifacts.model import FileCheck
    from jobmon_core.observe.artifacts.formats.source import Source

MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"
_MAX_FOOTER = 2**22  # bytes that are parsed
_SCHEMA, _NUM_ROWS = 2, 3  # the numbers of two fields of FileMetaData
_NUM_CHILDREN = 5  # the number of a field of SchemaElement, which only elements with children have
_MAX_DEPTH = 64
_MAX_ITEMS = 2**22
_LAST_NIBBLE = 15
# the types of Thrift's compact protocol; of the others, values have a fixed size
_STOP, _BINARY, _MAP, _STRUCT = 0, 8, 11, 12
_BOOLEANS, _INTEGERS, _LISTS = (1, 2), (4, 5, 6), (9, 10)
_SIZES = {1: 0, 2: 0, 3: 1, 7: 8, 13: 16}  # true, false, byte, double, UUID


def check_parquet(source: Source, max_bytes: int) -> FileCheck:
    """Return the content of a Parquet file; the data pages are not read."""
    tail = source.read_at(max(0, source.size - 8), 8)
    if source.size < len(MAGIC) + 8 or tail[4:] not in (MAGIC, _ENCRYPTED):
        raise Truncated("has no Parquet footer at its end")
    length = int.from_bytes(tail[:4], "little")
    begin = source.size - 8 - length
    if begin < len(MAGIC):
        raise Corrupt("has a Parquet footer that would be larger than the file")
    if tail[4:] == _ENCRYPTED or length > min(_MAX_FOOTER, max_bytes):
        return valid("parquet", is_sampled=True)
    with suppress(LookupError, ValueError, TypeError):  # what is damaged reads as nonsense
        footer = _Thrift(source.read_at(begin, length)).struct()
        rows, columns = footer[_NUM_ROWS], sum(_NUM_CHILDREN not in each for each in footer[_SCHEMA])
        if rows >= 0:
            return valid("parquet", rows, columns, is_sampled=True)
    raise Corrupt("has a damaged Parquet footer")


class _Thrift:
    """Raises LookupError or ValueError where values are damaged."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._left = _MAX_ITEMS

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the values of a struct by the numbers of their fields."""
        found: dict[int, Any] = {}
        field = 0
        while (head := self._take(1)[0]) != _STOP:
            field = field + (head >> 4) if head >> 4 else self._zigzag()
            found[field] = self._value(head & _LAST_NIBBLE, depth)
        return found

    def _value(self, kind: int, depth: int) -> object:
        self._left -= 1
        if depth > _MAX_DEPTH or self._left < 0:
            raise ValueError
        if kind in _INTEGERS:
            return self._zigzag()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in _LISTS:
            head = self._take(1)[0]
            count = head >> 4 if head >> 4 != _LAST_NIBBLE else self._varint()
            return [self._element(head & _LAST_NIBBLE, depth) for _ in range(count)]
        if kind == _MAP:
            count = self._varint()
            kinds = self._take(1)[0] if count else 0
            pair = kinds >> 4, kinds & _LAST_NIBBLE
            return [self._element(each, depth) for _ in range(count) for each in pair]
        return self._take(self._varint() if kind == _BINARY else _SIZES[kind])

    def _element(self, kind: int, depth: int) -> object:
        """Return a value in a list or map; there, a boolean takes a byte."""
        if kind in _BOOLEANS:
            return self._take(1)
        return self._value(kind, depth + 1)

    def _take(self, count: int) -> bytes:
        self._at += count
        if self._at > len(self._data):
            raise IndexError
        return self._data[self._at - count : self._at]

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 64, 7):
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:  # noqa: PLR2004 - the top bit says that another byte follows
                return value
        raise ValueError

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
