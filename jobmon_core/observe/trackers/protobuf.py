"""Split a message of Protocol Buffers into its fields, without its schema.

Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BITS, _SIGN = 2**64, 2**63
_REALS = {4: struct.Struct("<f"), 8: struct.Struct("<d")}  # by their bytes


class Damaged(ValueError):
    """The bytes are no message, or are cut off. The text completes a sentence that starts with the file."""


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and value of each field, in their order; of a varint as an int, else as bytes.

    Raises:
        Damaged: it is none.
    """
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        match tag & 7:
            case 0:
                number, at = _varint(message, at)
                yield tag >> 3, number
                continue
            case 1:
                size = 8
            case 2:
                size, at = _varint(message, at)
            case 5:
                size = 4
            case _:
                raise Damaged("has a field of an unknown type")
        if size > end - at:
            raise Damaged("has a field that is longer than its record")
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return a number, and where it ends."""
    number = shift = 0
    for at in range(at, min(at + 10, len(message))):  # noqa: B020, PLR1704 - where it ends
        byte = message[at]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the high bit says that more follows
            return number % _BITS, at + 1
        shift += 7
    raise Damaged("has a number that does not end")


def signed(value: int) -> int:
    """Return the value of an int32 or int64."""
    return value - _BITS if value >= _SIGN else value


def real(value: object) -> float | None:
    """Return the value of a float or double."""
    if not isinstance(value, bytes):
        return None
    layout = _REALS.get(len(value))
    return None if layout is None else float(layout.unpack(value)[0])
