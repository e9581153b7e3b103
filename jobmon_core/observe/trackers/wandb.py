"""Read the run folders of Weights & Biases, of runs that are offline and of those that are not.

Format of ``run-ID.wandb``: a header, then records framed as in LevelDB's log, but with a plain CRC-32
(https://github.com/google/leveldb/blob/main/doc/log_format.md), each a message of wandb_internal.proto
(https://github.com/wandb/wandb/tree/main/wandb/proto). The library writes whole blocks of 32 KiB, so that the
log of the program is ahead of this file.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.finding import Severity
from jobmon_core.domain.logs.tracker import RunStatus, Tracker, TrackerAlert, TrackerRun
from jobmon_core.observe.logs.open_file import read_regular
from jobmon_core.observe.trackers.building import (
    RunBuilder,
    flat,
    object_of,
    short,
    sound_time,
    step_of,
    total_in,
    value_of,
)
from jobmon_core.observe.trackers.files import Look, look_at_groups
from jobmon_core.observe.trackers.protobuf import Damaged, fields, real, signed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.domain.logs.tracker import Cursor
    from jobmon_core.observe.logs.scan_dirs import FoundFile
    from jobmon_core.observe.trackers.building import Limits
    from jobmon_core.observe.trackers.files import Found, OpenFile

_NAME = re.compile(r"run-(?P<id>.+)\.wandb")
_FOLDERS = 3  # the folder of the program, wandb, and that of a run
_MAGIC = b":W&B\xe1\xbe\x00"
_BLOCK = 2**15
_HEAD = struct.Struct("<IHB")
_FULL, _FIRST, _LAST = 1, 2, 4
_MAX_RECORD = 16 * 2**20
# of a long file: the records about the run, and the latest ones
_BEGINNING, _END = 4 * _BLOCK, 2 * 2**20
_MAX_SUMMARY = 2**20
_LEVELS = {"INFO": Severity.INFO, "WARN": Severity.WARNING, "ERROR": Severity.CRITICAL}


def look(place: str, before: Cursor | None, limits: Limits) -> Found:
    """Return the runs at ``place``: a .wandb file, the folder of a run, or one up to two levels above."""
    this = Look(place, before, limits)
    return look_at_groups(this, lambda name: _NAME.fullmatch(name) is not None, _FOLDERS, _id_of, _run_of)


def _id_of(file: FoundFile) -> str:
    found = _NAME.fullmatch(os.path.basename(file.path))  # noqa: PTH119 - a text
    return found["id"] if found else ""


def _run_of(run_id: str, files: list[FoundFile], this: Look) -> TrackerRun:
    run_id = short(run_id, this.limits.max_name)
    # the names of the folders begin with the time of the start, after a word
    files.sort(key=lambda file: file.path.rpartition("run-2")[2])
    known = this.known(run_id, files)
    folder = os.path.dirname(files[-1].path)  # noqa: PTH120 - a text
    run = known or TrackerRun(Tracker.WANDB, run_id, status=RunStatus.RUNNING)
    builder = _Run(replace(run, place=folder), this.limits)
    whys = [this.read_on(file, known, builder.read) for file in files]
    builder.read_summary(read_regular(f"{folder}/files/wandb-summary.json", _MAX_SUMMARY))
    return builder.built(*whys)


class _Run(RunBuilder):
    def read(self, file: OpenFile, start: int) -> Iterator[int]:
        """Read the records from ``start``; yield where each ends."""
        for offset, message in _records(file, start):
            self._read_record(dict(fields(message)))
            yield offset

    def read_summary(self, content: bytes | None) -> None:
        """Note the values of wandb-summary.json, if it is ahead: some versions write it more often."""
        record = flat(object_of(content))
        step = step_of(record.get("_step"))
        if step is not None and (self.step is None or step > self.step):
            self._add(record)

    def _read_record(self, record: dict[int, int | bytes]) -> None:
        for kind, content in record.items():
            match kind, content:
                case 2, bytes():
                    self._add(_items(content))
                case 5, bytes():
                    self._configure(content)
                case 10, bytes():
                    self._alert(content, record.get(1))
                case 17, bytes():
                    self._begin(dict(fields(content)))
                case 18, bytes():
                    self._end(dict(fields(content)))

    def _add(self, record: dict[str, object]) -> None:
        self.add_record(record, record.get("_step"), record.get("_timestamp"))

    def _configure(self, config: bytes) -> None:
        self.run = replace(self.run, total_steps=total_in(_items(config)) or self.run.total_steps)

    def _alert(self, content: bytes, number: object) -> None:
        parts, name = dict(fields(content)), f"{self.run.run_id}/{number}"
        title, text, level = (_text(parts.get(each), self.limits.max_text) for each in (1, 2, 3))
        severity = _LEVELS.get(level.upper(), Severity.INFO)
        alert = TrackerAlert(name, title, text, severity, self.step, self.updated_s)
        self.run = replace(self.run, alerts=(*self.run.alerts, alert)[-self.limits.max_alerts :])

    def _begin(self, run: dict[int, int | bytes]) -> None:
        """Note the record of the run itself, which is repeated when something of it changes."""
        if isinstance(config := run.get(4), bytes):
            self._configure(config)
        if name := _text(run.get(8), self.limits.max_name):
            self.run = replace(self.run, name=name)
        started_s = _timestamp(run.get(17))
        if started_s not in (None, self.run.started_s, self.run.resumed_s):
            self.start(started_s)
            self.run = replace(self.run, status=RunStatus.RUNNING)

    def _end(self, end: dict[int, int | bytes]) -> None:
        code, runtime_s = end.get(1, 0), end.get(2, 0)
        exit_code = signed(code) if isinstance(code, int) else None
        run = self.run
        ended_s, started_s = self.updated_s, run.resumed_s or run.started_s
        if isinstance(runtime_s, int) and started_s is not None:
            ended_s = max(ended_s or 0.0, sound_time(started_s + runtime_s) or 0.0)
        status = RunStatus.FAILED if exit_code else RunStatus.FINISHED
        self.run = replace(run, status=status, exit_code=exit_code, ended_s=ended_s)


def _items(content: bytes) -> dict[str, object]:
    """Return the values of a record of history or of configuration, by their names."""
    found = {}
    for number, item in fields(content):
        if number != 1 or not isinstance(item, bytes):
            continue
        names, value = [], None
        for part, packed in fields(item):
            match part, packed:
                case 1 | 2, bytes():
                    names.append(packed.decode("utf-8", "replace"))
                case 16, bytes():
                    value = value_of(packed)
                case 5, int():
                    value = packed >> 1 ^ -(packed & 1)  # of type sint64
                case 6, bytes():
                    value = real(packed)
        found[".".join(filter(None, names))] = value
    return flat(found)


def _text(content: object, at_most: int) -> str:
    return short(content.decode("utf-8", "replace"), at_most) if isinstance(content, bytes) else ""


def _timestamp(content: object) -> float | None:
    """Return the time in a google.protobuf.Timestamp."""
    parts = dict(fields(content)) if isinstance(content, bytes) else {}
    seconds, nanos = parts.get(1), parts.get(2, 0)
    if not isinstance(seconds, int) or not isinstance(nanos, int):
        return None
    return sound_time(seconds + nanos / 1e9)


def _records(file: OpenFile, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield the whole records from ``start``, each after the offset of its end.

    Raises:
        Damaged: what follows is no record.
    """
    at, pieces = max(start, len(_MAGIC)), list[bytes]()
    if start == 0 and file.read_at(0, len(_MAGIC)) not in (_MAGIC, b""):
        raise Damaged("is no file of W&B")
    for at, kind, piece in _fragments(file, at):  # noqa: B020 - where each ends
        if kind in (_FULL, _FIRST):
            pieces.clear()
        elif not pieces:  # its beginning was skipped
            continue
        pieces.append(piece)
        if sum(map(len, pieces)) > _MAX_RECORD:
            pieces.clear()
        elif kind in (_FULL, _LAST):
            yield at, b"".join(pieces)
            pieces.clear()


def _fragments(file: OpenFile, at: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield the parts of records: where each ends, which part it is, and its bytes."""
    block, block_at = b"", at
    while at + _HEAD.size <= file.size:
        left = _BLOCK - at % _BLOCK
        if left < _HEAD.size:  # it is filled up with zeros
            at += left
            continue
        if at + _HEAD.size > block_at + len(block):
            if file.left <= 0:
                return
            if at >= _BEGINNING and file.size - at > _END:
                at = (file.size - _END) // _BLOCK * _BLOCK
            block, block_at = file.read_at(at, _BLOCK - at % _BLOCK), at
            if len(block) < _HEAD.size:
                return
        fragment = block[at - block_at : at - block_at + left]
        checksum, length, kind = _HEAD.unpack_from(fragment)
        piece = fragment[_HEAD.size : _HEAD.size + length]
        if not any(fragment) or (len(piece) < length and len(fragment) < left):
            return  # it is still written
        is_whole = _FULL <= kind <= _LAST and len(piece) == length
        if not is_whole or checksum != zlib.crc32(piece, zlib.crc32(bytes((kind,)))):
            raise Damaged(f"has a damaged record at byte {at:,}: what follows is not read")
        at += _HEAD.size + length
        yield at, kind, piece
