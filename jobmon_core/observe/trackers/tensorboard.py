"""Read the scalars of TensorBoard's event files, which also PyTorch, tensorboardX and TensorFlow 2 write.

A folder with such files is a run, as for TensorBoard itself. Format: records as of TFRecord, each a length,
its checksum, a message and its checksum; the messages are those of util/event.proto and
framework/summary.proto (https://github.com/tensorflow/tensorflow/tree/master/tensorflow/core).
"""

from __future__ import annotations

import os
import re
import struct
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.tracker import Tracker, TrackerRun
from jobmon_core.observe.trackers.building import RunBuilder, short
from jobmon_core.observe.trackers.files import Look, files_below, summed_up
from jobmon_core.observe.trackers.protobuf import Damaged, fields, real, signed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.domain.logs.tracker import Cursor
    from jobmon_core.observe.logs.scan_dirs import FoundFile
    from jobmon_core.observe.trackers.building import Limits
    from jobmon_core.observe.trackers.files import OpenFile

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


def look(place: str, before: Cursor | None, limits: Limits) -> tuple[tuple[TrackerRun, ...], Cursor]:
    """Return the runs at ``place``, a file or a folder of up to three levels, with what was written since."""
    folders: dict[str, list[FoundFile]] = defaultdict(list)
    for file in files_below(place, _is_event_file, _LEVELS):
        folders[os.path.dirname(file.path)].append(file)  # noqa: PTH120 - a text
    newest = sorted(folders, key=lambda name: -max(file.modified_ns for file in folders[name]))
    this = Look(place, before, limits)
    for folder in newest[: limits.max_runs]:
        files = sorted(folders[folder], key=lambda file: file.path)[-_MAX_FILES:]
        this.runs.append(_run_of(folder, files, this))
    return this.result()


def _is_event_file(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and not name.endswith(_NO_SCALARS)


def _run_of(folder: str, files: Sequence[FoundFile], this: Look) -> TrackerRun:
    name = this.name_of(folder)
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
    return replace(builder.built(), partial=summed_up(whys))


def _process(path: str) -> str:
    """Return the host and number of the process that wrote a file; empty if its name does not tell."""
    found = _NAME.fullmatch(os.path.basename(path))  # noqa: PTH119 - a text
    return (found and found["process"]) or ""


@dataclass(slots=True)
class _EventReader:
    """Reads one file of a run."""

    builder: RunBuilder
    is_restart: bool
    _names: dict[bytes, str] = field(default_factory=dict)  # of scalars, by their tags

    def read(self, file: OpenFile, start: int) -> Iterator[int]:
        """Read the events from ``start``; yield where each ends."""
        for offset, message in _records(file, start):
            if message:
                self._read_event(message)
            yield offset

    def _read_event(self, message: bytes) -> None:
        time_s, step = None, 0
        for number, value in fields(message):
            match number, value:
                case 1, bytes():
                    time_s = real(value)
                case 2, int():
                    step = signed(value)
                case 3, bytes():
                    if self.is_restart or self.builder.run.started_s is None:
                        self.builder.start(time_s)
                case 5, bytes():
                    self._read_summary(value, step, time_s)
                case 7, bytes() if (1, _SESSION_START) in fields(value):
                    self.builder.purge(step)

    def _read_summary(self, summary: bytes, step: int, time_s: float | None) -> None:
        for number, content in fields(summary):
            if number != 1 or not isinstance(content, bytes):
                continue
            parts = dict(fields(content))
            tag, value = parts.get(1), parts.get(2)
            if not isinstance(value, bytes):
                value = _in_tensor(parts.get(8))
            scalar = real(value)
            if scalar is not None and isinstance(tag, bytes) and not tag.startswith(_HPARAMS):
                self.builder.add(self._name_of(tag), scalar, step, time_s)

    def _name_of(self, tag: bytes) -> str:
        name = self._names.get(tag)
        if name is None:
            name = short(tag.decode("utf-8", "replace"), self.builder.limits.max_name)
            self._names[tag] = name
        return name


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
    """Return the length of a message.

    Raises:
        Damaged: it is none, or too large.
    """
    length, checksum = _HEAD.unpack(head)
    if checksum != _masked_crc(head[: _LENGTH.size]):
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
