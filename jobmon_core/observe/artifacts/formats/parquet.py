"""Check Parquet files by their footer, which is Thrift in its compact protocol, and count their rows.

Formats: apache/parquet-format (README, parquet.thrift), apache/thrift (thrift-compact-protocol.md).
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from jobmon_core.observe.artifacts.formats.source import Content, Corrupt, Truncated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.observe.artifacts.formats.source import Source

MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"
_MAX_FOOTER = 2**22  # bytes that are parsed
_SCHEMA, _NUM_ROWS = 2, 3  # the numbers of two fields of FileMetaData
_NUM_CHILDREN = 5  # the number of a field of SchemaElement, which only elements with children have
_MAX_DEPTH = 64
_MAX_ITEMS = 2**22
_LAST_NIBBLE = 15


def check_parquet(source: Source, max_bytes: int) -> Content:
    """Return the content of a Parquet file; the data pages are not read."""
    tail = source.read_at(max(0, source.size - 8), 8)
    if source.size < len(MAGIC) + 8 or tail[4:] not in (MAGIC, _ENCRYPTED):
        raise Truncated("has no Parquet footer at its end")
    length = int.from_bytes(tail[:4], "little")
    begin = source.size - 8 - length
    if begin < len(MAGIC):
        raise Corrupt("has a Parquet footer that would be larger than the file")
    if tail[4:] == _ENCRYPTED or length > min(_MAX_FOOTER, max_bytes):
        return Content("parquet", is_sampled=True)
    try:
        rows, columns = _Thrift(source.read_at(begin, length)).file_metadata()
    except (IndexError, ValueError):
        raise Corrupt("has a damaged Parquet footer") from None
    return Content("parquet", rows, columns, is_sampled=True)


class _Type(IntEnum):
    """The types of Thrift's compact protocol."""

    STOP = 0
    TRUE = 1
    FALSE = 2
    BYTE = 3
    I16 = 4
    I32 = 5
    I64 = 6
    DOUBLE = 7
    BINARY = 8
    LIST = 9
    SET = 10
    MAP = 11
    STRUCT = 12
    UUID = 13


class _Thrift:
    """Reads Thrift values one after the other; raises IndexError or ValueError where they are damaged."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._left = _MAX_ITEMS

    def file_metadata(self) -> tuple[int, int]:
        """Return the numbers of rows and of columns."""
        rows, columns = -1, -1
        for field, kind in self._fields():
            if field == _NUM_ROWS and kind is _Type.I64:
                rows = self._zigzag()
            elif field == _SCHEMA and kind is _Type.LIST:
                columns = self._leaves()
            else:
                self._skip(kind, 0)
        if rows < 0 or columns < 0:
            raise ValueError
        return rows, columns

    def _leaves(self) -> int:
        """Return how many elements of the schema have no children."""
        leaves = 0
        for _ in range(self._list_head()[1]):
            has_children = False
            for field, kind in self._fields():
                has_children |= field == _NUM_CHILDREN
                self._skip(kind, 0)
            leaves += not has_children
        return leaves

    def _fields(self) -> Iterator[tuple[int, _Type]]:
        """Yield the number and type of each field of a struct; the caller reads its value."""
        field = 0
        while True:
            head = self._byte()
            kind = _Type(head & _LAST_NIBBLE)
            if kind is _Type.STOP:
                return
            field = field + (head >> 4) if head >> 4 else self._zigzag()
            yield field, kind

    def _list_head(self) -> tuple[_Type, int]:
        head = self._byte()
        count = head >> 4
        return _Type(head & _LAST_NIBBLE), self._varint() if count == _LAST_NIBBLE else count

    def _skip(self, kind: _Type, depth: int) -> None:
        self._left -= 1
        if depth > _MAX_DEPTH or self._left < 0:
            raise ValueError
        if kind in (_Type.I16, _Type.I32, _Type.I64):
            self._varint()
        elif kind is _Type.BINARY:
            self._advance(self._varint())
        elif kind is _Type.STRUCT:
            for _, each in self._fields():
                self._skip(each, depth + 1)
        elif kind in (_Type.LIST, _Type.SET):
            each, count = self._list_head()
            self._skip_all((each,), count, depth)
        elif kind is _Type.MAP:
            count = self._varint()
            kinds = self._byte() if count else 0
            self._skip_all((_Type(kinds >> 4), _Type(kinds & _LAST_NIBBLE)), count, depth)
        else:
            self._advance({_Type.BYTE: 1, _Type.DOUBLE: 8, _Type.UUID: 16}.get(kind, 0))

    def _skip_all(self, kinds: tuple[_Type, ...], count: int, depth: int) -> None:
        for _ in range(count):
            for kind in kinds:
                if kind in (_Type.TRUE, _Type.FALSE):  # outside of a struct, a boolean takes a byte
                    self._skip(_Type.BYTE, depth + 1)
                else:
                    self._skip(kind, depth + 1)

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _advance(self, count: int) -> None:
        self._at += count
        if self._at > len(self._data):
            raise IndexError

    def _varint(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:  # noqa: PLR2004 - the top bit says that another byte follows
                return value
            shift += 7
            if shift > 63:  # noqa: PLR2004 - more bits than the largest number has
                raise ValueError

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
