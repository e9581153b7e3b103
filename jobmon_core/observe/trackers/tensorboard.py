"""Read the scalars of TensorBoard's event files, which also PyTorch, tensorboardX and TensorFlow 2 write.

A folder with such files is a run, as for TensorBoard itself. Format: records as of TFRecord, each a length,
its checksum, a message and its checksum; the messages are those of util/event.proto and
framework/summary.proto (https://github.com/tensorflow/tensorflow/tree/master/tensorflow/core).
"""

from __future__ import annotations

import os
import re
import struct
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from jobmon_core.observe.trackers.files import CHUNK, Damaged
from jobmon_core.observe.trackers.protobuf import fields, real, signed
from jobmon_core.observe.trackers.values import add, short, sound_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.domain.logs.tracker import TrackerRun
    from jobmon_core.observe.logs.scan_dirs import FoundFile
    from jobmon_core.observe.trackers.files import Look

# seconds, host, and of some writers a process and a number; profilers write files without scalars
_NAME = re.compile(
    r"events\.out\.tfevents\.\d+\.(?!.*\.profile-empty)(?:(?P<process>.+\.\d+)\.\d+|.*?)(?:\.v2)?"
)
_LEVELS = 3
_MAX_FILES = 64  # of a run, the latest: each restart begins one
_HEAD, _CRC = struct.Struct("<QI"), struct.Struct("<I")
_FRAME = _HEAD.size + _CRC.size
_MAX_RECORD = 16 * 2**20
_MAX_PARSED = CHUNK - _FRAME  # bytes; larger records hold pictures and the like
_HPARAMS = b"_hparams_/"
_SIZES: dict[object, int] = {1: 4, 2: 8}  # bytes, by enum DataType: float and double
_MASK = 0xA282EAD8
_POLYNOMIAL = 0x82F63B78  # of CRC-32C, with its bits reversed


def look(this: Look) -> Iterator[TrackerRun]:
    """Yield the runs at a place, a file or a folder of up to three levels."""
    for folder, files in this.groups(lambda name: bool(_NAME.fullmatch(name)), _LEVELS, os.path.dirname):
        yield _run_of(folder, files[-_MAX_FILES:], this)


def _run_of(folder: str, files: list[FoundFile], this: Look) -> TrackerRun:
    name = this.name_of(folder)
    run = this.run(name, folder, files)
    run.name = short(name)
    processes = set[str]()
    for file in files:
        found = _NAME.fullmatch(os.path.basename(file.path))  # noqa: PTH119 - a text
        process = (found and found["process"]) or ""
        # a process may write several files; that of another one is a restart
        this.read_on(run, file, partial(_read, run, process not in processes))
        processes |= {process} - {""}
    return run


def _read(run: TrackerRun, is_restart: bool, data: bytes, start: int, size: int) -> Iterator[int]:  # noqa: FBT001 - bound above
    """Read the events from ``start``; yield where each ends."""
    for end, message in _records(data, start, size):
        _read_event(run, message, is_restart=is_restart)
        yield end


def _read_event(run: TrackerRun, message: bytes, *, is_restart: bool) -> None:
    event = dict(fields(message))
    time_s, step, summary = sound_time(real(event.get(1))), event.get(2, 0), event.get(5)
    if 3 in event and (is_restart or run.started_s is None):  # noqa: PLR2004 - its number
        run.start(time_s)
    if not isinstance(summary, bytes) or not isinstance(step, int):
        return
    for number, content in fields(summary):
        if number == 1 and isinstance(content, bytes):
            parts = dict(fields(content))
            tag, value = parts.get(1), real(parts.get(2))
            if isinstance(tag, bytes) and not tag.startswith(_HPARAMS):
                number_of = value if value is not None else _in_tensor(parts.get(8))
                add(run, tag.decode("utf-8", "replace"), number_of, signed(step), time_s)


def _in_tensor(tensor: object) -> float | None:
    """Return the number in a tensor of one float or double."""
    parts = dict(fields(tensor)) if isinstance(tensor, bytes) else {}
    packed = parts.get(4) or parts.get(5) or parts.get(6)  # its bytes, or a list of floats or doubles
    is_one = isinstance(packed, bytes) and len(packed) == _SIZES.get(parts.get(1))
    return real(packed) if is_one else None


def _records(data: bytes, start: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield the whole records of a file from ``start``: where each ends, and its message; of large ones none.

    Raises:
        Damaged: what follows is no record.
    """
    at = 0
    while at + _HEAD.size <= len(data):
        length, checksum = _HEAD.unpack_from(data, at)
        end = at + _FRAME + length
        if checksum != _crc_of_length(data[at : at + 8]):
            raise Damaged(f"has a damaged record at byte {start + at:,}: what follows is not read")
        if length > _MAX_RECORD:
            raise Damaged(
                f"has a record of {length:,} bytes at byte {start + at:,}: what follows is not read"
            )
        if start + end > size or (length <= _MAX_PARSED and end > len(data)):
            return  # it is still written, or continues in what is read next
        message = b""
        if length <= _MAX_PARSED:
            message = data[at + _HEAD.size : end - _CRC.size]
            if data[end - _CRC.size : end] != _CRC.pack(_masked_crc(message)):
                raise Damaged(f"has a damaged record at byte {start + at:,}: what follows is not read")
        at = end
        yield start + at, message


def _crc_table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (value & 1) * _POLYNOMIAL  # noqa: PLW2901 - bit by bit
        table.append(value)
    return tuple(table)


_TABLE = _crc_table()


def _masked_crc(data: bytes) -> int:
    """Return the CRC-32C of some bytes, rotated and shifted as TFRecord has it."""
    table, crc = _TABLE, 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


_crc_of_length = lru_cache(_masked_crc)  # most records have one of a few lengths
