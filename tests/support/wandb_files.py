"""Files of W&B, byte by byte, for damage that its library does not make."""

from __future__ import annotations

import json
import struct
import zlib

from tests.support.event_files import message_field, varint

_BLOCK = 2**15
HEADER = b":W&B\xe1\xbe\x00"


def run_record(run_id: str, started_s: int, config: dict[str, object]) -> bytes:
    """Return the record with which a run begins."""
    items = (_item(key, value) for key, value in config.items())
    packed = message_field(4, b"".join(message_field(1, item) for item in items))
    start = message_field(17, b"\x08" + varint(started_s))
    return message_field(17, message_field(1, run_id.encode()) + packed + start)


def history_record(**values: object) -> bytes:
    """Return the record of a step."""
    return message_field(2, b"".join(message_field(1, _item(key, value)) for key, value in values.items()))


def exit_record(code: int) -> bytes:
    """Return the record with which a run ends."""
    return message_field(18, b"\x08" + varint(code))


def file_of(*records: bytes) -> bytes:
    """Return a file of these records, framed as in LevelDB's log."""
    content = bytearray(HEADER)
    for record in records:
        rest, kinds = record, iter((2, *[3] * len(record)))
        while True:
            left = _BLOCK - len(content) % _BLOCK
            if left < 7:
                content += bytes(left)
                continue
            piece, rest = rest[: left - 7], rest[left - 7 :]
            is_first, is_last = len(piece) + len(rest) == len(record), not rest
            kind = 1 if is_first and is_last else 4 if is_last else next(kinds)
            checksum = zlib.crc32(bytes((kind,)) + piece)
            content += struct.pack("<IHB", checksum, len(piece), kind) + piece
            if is_last:
                break
    return bytes(content)


def _item(key: str, value: object) -> bytes:
    return message_field(1, key.encode()) + message_field(16, json.dumps(value).encode())
