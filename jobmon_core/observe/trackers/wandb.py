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
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.finding import Severity
from jobmon_core.domain.logs.tracker import RunStatus, Tracker, TrackerAlert, TrackerRun
from jobmon_core.observe.logs.open_file import read_regular
from jobmon_core.observe.trackers.building import (
    RunBuilder,
    real_of,
    short,
    sound_step,
    sound_time,
    step_in,
    total_in,
)
from jobmon_core.observe.trackers.files import Look, files_below, summed_up
from jobmon_core.observe.trackers.json_values import flat, object_of, value_of
from jobmon_core.observe.trackers.protobuf import Damaged, fields, real, signed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.domain.logs.tracker import Cursor
    from jobmon_core.observe.logs.scan_dirs import FoundFile
    from jobmon_core.observe.trackers.building import Limits
    from jobmon_core.observe.trackers.files import OpenFile

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
_STEP, _TIME = "_step", "_timestamp"


def look(place: str, before: Cursor | None, limits: Limits) -> tuple[tuple[TrackerRun, ...], Cursor]:
    """Return the runs at ``place``: a .wandb file, the folder of a run, or one up to two levels above."""
    by_id: dict[str, list[FoundFile]] = defaultdict(list)
    for file in files_below(place, lambda name: _NAME.fullmatch(name) is not None, _FOLDERS):
        by_id[_id_of(file)].append(file)
    newest = sorted(by_id, key=lambda run_id: -max(file.modified_ns for file in by_id[run_id]))
    this = Look(place, before, limits)
    for run_id in newest[: limits.max_runs]:
        # the names of the folders begin with the time of the start, after a word
        files = sorted(by_id[run_id], key=lambda file: file.path.rpartition("run-2")[2])
        this.runs.append(_run_of(run_id, files, this))
    return this.result()


def _id_of(file: FoundFile) -> str:
    found = _NAME.fullmatch(os.path.basename(file.path))  # noqa: PTH119 - a text
    return found["id"] if found else ""


def _run_of(run_id: str, files: Sequence[FoundFile], this: Look) -> TrackerRun:
    run_id = short(run_id, this.limits.max_name)
    known = this.known(run_id, files)
    folder = os.path.dirname(files[-1].path)  # noqa: PTH120 - a text
    run = known or TrackerRun(Tracker.WANDB, run_id, status=RunStatus.RUNNING)
    reader = _RecordReader(RunBuilder(replace(run, place=folder), this.limits))
    whys = [this.read_on(file, known, reader.read) for file in files]
    reader.read_summary(read_regular(f"{folder}/files/wandb-summary.json", _MAX_SUMMARY))
    return replace(reader.builder.built(), partial=summed_up(whys))


@dataclass(frozen=True, slots=True)
class _RecordReader:
    builder: RunBuilder

    def read(self, file: OpenFile, start: int) -> Iterator[int]:
        """Read the records from ``start``; yield where each ends."""
        for offset, message in _records(file, start):
            self._read_record(dict(fields(message)))
            yield offset

    def read_summary(self, content: bytes | None) -> None:
        """Note the values of wandb-summary.json, if it is ahead: some versions write it more often."""
        record = flat(object_of(content))
        step = sound_step(real_of(record.get(_STEP)))
        own = self.builder.step
        if step is not None and (own is None or step > own):
            self._add(record)

    def _read_record(self, record: dict[int, int | bytes]) -> None:
        number = record.get(1)
        for kind, content in record.items():
            match kind, content:
                case 2, bytes():
                    self._add(_items(content))
                case 5, bytes():
                    self._configure(content)
                case 10, bytes():
                    self._alert(content, number)
                case 17, bytes():
                    self._begin(dict(fields(content)))
                case 18, bytes():
                    self._end(dict(fields(content)))

    def _add(self, record: dict[str, object]) -> None:
        """Note the scalars of one step."""
        step = step_in(record, sound_step(real_of(record.get(_STEP))))
        time_s = sound_time(real_of(record.get(_TIME)))
        self.builder.reach(step, time_s)
        for name, value in record.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if is_number and not name.startswith("_") and (number := real_of(value)) is not None:
                self.builder.add(short(name, self.builder.limits.max_name), number, step, time_s)

    def _configure(self, config: bytes) -> None:
        total = total_in(_items(config))
        if total is not None:
            self.builder.run = replace(self.builder.run, total_steps=total)

    def _alert(self, content: bytes, number: object) -> None:
        texts = {
            key: value.decode("utf-8", "replace")
            for key, value in fields(content)
            if isinstance(value, bytes)
        }
        limits = self.builder.limits
        alert = TrackerAlert(
            f"{self.builder.run.run_id}/{number}",
            short(texts.get(1), limits.max_text),
            short(texts.get(2), limits.max_text),
            _LEVELS.get(texts.get(3, "").upper(), Severity.INFO),
            self.builder.step,
            self.builder.updated_s,
        )
        alerts = (*self.builder.run.alerts, alert)[-limits.max_alerts :]
        self.builder.run = replace(self.builder.run, alerts=alerts)

    def _begin(self, run: dict[int, int | bytes]) -> None:
        """Note the record of the run itself, which is repeated when something of it changes."""
        if isinstance(config := run.get(4), bytes):
            self._configure(config)
        name = run.get(8)
        if isinstance(name, bytes):
            shown = short(name.decode("utf-8", "replace"), self.builder.limits.max_name)
            self.builder.run = replace(self.builder.run, name=shown)
        started_s = _timestamp(run.get(17))
        if started_s not in (None, self.builder.run.started_s, self.builder.run.resumed_s):
            self.builder.start(started_s)
            self.builder.run = replace(self.builder.run, status=RunStatus.RUNNING)

    def _end(self, end: dict[int, int | bytes]) -> None:
        code, runtime_s = end.get(1, 0), end.get(2, 0)
        exit_code = signed(code) if isinstance(code, int) else None
        run = self.builder.run
        ended_s, started_s = self.builder.updated_s, run.resumed_s or run.started_s
        if isinstance(runtime_s, int) and started_s is not None:
            ended_s = max(ended_s or 0.0, sound_time(started_s + runtime_s) or 0.0)
        status = RunStatus.FAILED if exit_code else RunStatus.FINISHED
        self.builder.run = replace(run, status=status, exit_code=exit_code, ended_s=ended_s)


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
        _, length, kind = _HEAD.unpack_from(fragment)
        if not any(fragment) or _HEAD.size + length > len(fragment) < left:
            return  # it is still written
        piece = fragment[_HEAD.size : _HEAD.size + length]
        if not _is_whole(fragment, piece):
            raise Damaged(f"has a damaged record at byte {at:,}: what follows is not read")
        at += _HEAD.size + length
        yield at, kind, piece


def _is_whole(fragment: bytes, piece: bytes) -> bool:
    """Whether a part of a record is of a known kind and has its length and its checksum."""
    checksum, length, kind = _HEAD.unpack_from(fragment)
    if not _FULL <= kind <= _LAST or length != len(piece):
        return False
    return bool(checksum == zlib.crc32(piece, zlib.crc32(bytes((kind,)))))
