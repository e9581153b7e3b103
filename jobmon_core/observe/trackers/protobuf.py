"""Split a message of Protocol Buffers into its fields, without its schema.

Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from contextlib import suppress

_BITS, _SIGN = 2**64, 2**63
_VARINT, _WITH_BYTES = 0, (1, 2, 5)  # types
_FIXED = {1: 8, 5: 4}  # bytes, by the type
_MORE = 0x80  # in each byte of a varint but its last
_LONGEST = 63  # bits before the last byte of a varint
_REALS = {4: struct.Struct("<f"), 8: struct.Struct("<d")}  # by their bytes


def fields(message: bytes) -> list[tuple[int, int | bytes]]:
    """Return the number and value of each field, in their order; of a varint as an int, else as bytes.

    What follows damage is left out: the files have checksums, so that no program writes it.
    """
    found: list[tuple[int, int | bytes]] = []
    at, end = 0, len(message)
    with suppress(IndexError):  # most tags, lengths and numbers are of one byte
        while at < end:
            tag, at = (message[at], at + 1) if message[at] < _MORE else _varint(message, at)
            kind = tag & 7
            size = _FIXED.get(kind)
            if size is None:
                size, at = (message[at], at + 1) if message[at] < _MORE else _varint(message, at)
                if kind == _VARINT:
                    found.append((tag >> 3, size))
                    continue
            if size > end - at or kind not in _WITH_BYTES:
                break
            found.append((tag >> 3, message[at : at + size]))
            at += size
    return found


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return a number, and where it ends. IndexError if it does not end."""
    number = shift = 0
    while shift <= _LONGEST:
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < _MORE:
            break
        shift += 7
    return number % _BITS, at


def signed(value: int) -> int:
    """Return the value of an int32 or int64."""
    return value - _BITS if value >= _SIGN else value


def real(value: object) -> float | None:
    """Return the value of a float or double."""
    if not isinstance(value, bytes):
        return None
    layout = _REALS.get(len(value))
    return None if layout is None else float(layout.unpack(value)[0])
