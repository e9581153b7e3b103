"""Read the scalars of TensorBoard's event files, which also PyTorch, tensorboardX and TensorFlow 2 write.

A folder with such files is a run, as for TensorBoard itself. Format: records as of TFRecord, each a length,
its checksum, a message and its checksum; the messages are those of util/event.proto and
framework/summary.proto (https://github.com/tensorflow/tensorflow/tree/master/tensorflow/core).
"""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.tracker import Tracker, TrackerRun
from jobmon_core.observe.trackers.building import RunBuilder, short
from jobmon_core.observe.trackers.files import Look, look_at_groups
from jobmon_core.observe.trackers.protobuf import Damaged, fields, real, signed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.domain.logs.tracker import Cursor
    from jobmon_core.observe.logs.scan_dirs import FoundFile
    from jobmon_core.observe.trackers.building import Limits
    from jobmon_core.observe.trackers.files import Found, OpenFile

# seconds, host, and of some writers a process and a number
_NAME = re.compile(r"events\.out\.tfevents\.\d+\.(?:(?P<process>.+\.\d+)\.\d+|.*?)(?:\.v2)?")
_NO_SCALARS = ".profile-empty"
_LEVELS = 3
_MAX_FILES = 64  # of a run, the latest: each restart begins one
_HEAD, _LENGTH, _CRC = struct.Struct("<QI"), struct.Struct("<Q"), struct.Struct("<I")
_MAX_RECORD = 16 * 2**20
_MAX_PARSED = 2**18  # bytes; larger records hold pictures and the like
_CHUNK = 2**18
_HPARAMS = b"_hparams_/"
_SIZES: dict[object, int] = {1: 4, 2: 8}  # of enum DataType: float and double
_SESSION_START = 1
_MASK = 0xA282EAD8
_POLYNOMIAL = 0x82F63B78  # of CRC-32C, with its bits reversed


def look(place: str, before: Cursor | None, limits: Limits) -> Found:
    """Return the runs at ``place``, a file or a folder of up to three levels, with what was written since."""
    return look_at_groups(Look(place, before, limits), _is_event_file, _LEVELS, _folder_of, _run_of)


def _folder_of(file: FoundFile) -> str:
    return os.path.dirname(file.path)  # noqa: PTH120 - a text


def _is_event_file(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and not name.endswith(_NO_SCALARS)


def _run_of(folder: str, files: list[FoundFile], this: Look) -> TrackerRun:
    name, files = this.name_of(folder), sorted(files, key=lambda file: file.path)[-_MAX_FILES:]
    run = this.known(name, files)
    title = short(name, this.limits.max_name)
    builder = RunBuilder(run or TrackerRun(Tracker.TENSORBOARD, name, title, folder), this.limits)
    whys, processes = [], set[str]()
    for file in files:
        # a process may write several files; that of another one is a restart
        process = _process(file.path)
        reader = _EventReader(builder, is_restart=process not in processes)
        processes |= {process} - {""}
        whys.append(this.read_on(file, run, reader.read))
    return builder.built(*whys)


def _process(path: str) -> str:
    """Return the host and number of the process that wrote a file; empty if its name does not tell."""
    found = _NAME.fullmatch(os.path.basename(path))  # noqa: PTH119 - a text
    return (found and found["process"]) or ""


@dataclass(frozen=True, slots=True)
class _EventReader:
    """Reads one file of a run."""

    builder: RunBuilder
    is_restart: bool

    def read(self, file: OpenFile, start: int) -> Iterator[int]:
        """Read the events from ``start``; yield where each ends."""
        for offset, message in _records(file, start):
            if message:
                self._read_event(message)
            yield offset

    def _read_event(self, message: bytes) -> None:
        event = dict(fields(message))
        time_s, step, summary, session = real(event.get(1)), event.get(2, 0), event.get(5), event.get(7)
        if not isinstance(step, int):
            return
        if 3 in event and (self.is_restart or self.builder.run.started_s is None):  # noqa: PLR2004 - its number
            self.builder.start(time_s)
        if isinstance(session, bytes) and (1, _SESSION_START) in fields(session):
            self.builder.purge(signed(step))
        if isinstance(summary, bytes):
            self._read_summary(summary, signed(step), time_s)

    def _read_summary(self, summary: bytes, step: int, time_s: float | None) -> None:
        for number, content in fields(summary):
            if number != 1 or not isinstance(content, bytes):
                continue
            parts = dict(fields(content))
            tag, value = parts.get(1), parts.get(2)
            if not isinstance(value, bytes):
                value = _in_tensor(parts.get(8))
            if isinstance(tag, bytes) and not tag.startswith(_HPARAMS):
                self.builder.add(tag.decode("utf-8", "replace"), real(value), step, time_s)


def _in_tensor(tensor: object) -> bytes | None:
    """Return the packed number in a tensor of one float or double."""
    if not isinstance(tensor, bytes):
        return None
    parts = dict(fields(tensor))
    size = _SIZES.get(parts.get(1))
    found = (parts.get(number) for number in (4, 5, 6))  # its bytes, or a list of floats or doubles
    return next((each for each in found if isinstance(each, bytes) and len(each) == size), None)


def _records(file: OpenFile, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield the whole records from ``start``, each after the offset of its end; of large ones no content.

    Raises:
        Damaged: what follows is no record.
    """
    at, chunk, chunk_at = start, b"", start
    while at + _HEAD.size + _CRC.size <= file.size:
        if at + _HEAD.size > chunk_at + len(chunk):
            if file.left <= 0:
                return
            chunk, chunk_at = file.read_at(at, min(_CHUNK, max(file.left, _HEAD.size))), at
        head = chunk[at - chunk_at : at - chunk_at + _HEAD.size]
        if len(head) < _HEAD.size:  # it was cut just now
            return
        length = _length(head, at)
        begin, end = at + _HEAD.size, at + _HEAD.size + length + _CRC.size
        if end > file.size:  # it is still written
            return
        message = b""
        if length <= _MAX_PARSED:
            if end > chunk_at + len(chunk):
                chunk, chunk_at = file.read_at(at, max(min(_CHUNK, file.left), end - at)), at
            message = chunk[begin - chunk_at : end - chunk_at - _CRC.size]
            packed = chunk[end - chunk_at - _CRC.size : end - chunk_at]
            if packed != _CRC.pack(_masked_crc(message)):
                raise Damaged(f"has a damaged record at byte {at:,}: what follows is not read")
        at = end
        yield at, message


def _length(head: bytes, at: int) -> int:
    """Return the length of a message. Raise Damaged if it is none, or too large."""
    length, checksum = _HEAD.unpack(head)
    if checksum != _crc_of_length(head[: _LENGTH.size]):
        raise Damaged(f"has a damaged record at byte {at:,}: what follows is not read")
    if length > _MAX_RECORD:
        raise Damaged(f"has a record of {length:,} bytes at byte {at:,}: what follows is not read")
    return int(length)


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
