"""Event files as TensorBoard's writers make them, byte by byte, for damage that no writer makes."""

from __future__ import annotations

import struct
from pathlib import Path

_POLYNOMIAL = 0x82F63B78


def write_events(path: Path, *messages: bytes) -> Path:
    """Write a file of these events; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(record, messages)))
    return path


def first_event(time_s: float) -> bytes:
    """Return the event with which each file begins."""
    return b"\x09" + struct.pack("<d", time_s) + message_field(3, b"brain.Event:2")


def scalar_event(tag: str, value: float, step: int, time_s: float = 1_800_000_000.0) -> bytes:
    """Return an event with a scalar, as PyTorch and tensorboardX write it."""
    return _event(message_field(1, tag.encode()) + b"\x15" + struct.pack("<f", value), step, time_s)


def tensor_event(
    tag: str, value: float, step: int, time_s: float = 1_800_000_000.0, *, is_double: bool = False
) -> bytes:
    """Return an event with a scalar, as TensorFlow 2 writes it, or as PyTorch does with double precision."""
    tensor = b"\x08\x01" + message_field(2, b"") + message_field(4, struct.pack("<f", value))
    if is_double:
        tensor = b"\x08\x02" + message_field(6, struct.pack("<d", value))
    plugin = message_field(1, message_field(1, b"scalars"))
    content = message_field(1, tag.encode()) + message_field(8, tensor) + message_field(9, plugin)
    return _event(content, step, time_s)


def _event(content: bytes, step: int, time_s: float) -> bytes:
    summary = message_field(5, message_field(1, content))
    return b"\x09" + struct.pack("<d", time_s) + b"\x10" + varint(step) + summary


def record(message: bytes) -> bytes:
    """Return a record of TFRecord."""
    length = struct.pack("<Q", len(message))
    return length + masked_crc(length) + message + masked_crc(message)


def masked_crc(data: bytes) -> bytes:
    """Return the checksum of TFRecord."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (crc & 1) * _POLYNOMIAL
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def message_field(number: int, content: bytes) -> bytes:
    """Return a field of a message of Protocol Buffers."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    """Return a number of it."""
    packed = bytearray()
    while value > 0x7F:
        packed.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*packed, value))
