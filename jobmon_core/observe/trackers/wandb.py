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
from functools import partial
from typing import TYPE_CHECKING

from jobmon_core.domain.finding import Severity
from jobmon_core.domain.logs.tracker import RunStatus, TrackerAlert
from jobmon_core.observe.logs.open_file import read_regular
from jobmon_core.observe.trackers.files import Damaged
from jobmon_core.observe.trackers.protobuf import fields, real
from jobmon_core.observe.trackers.values import (
    MAX_NAME,
    MAX_TEXT,
    add_record,
    flat,
    object_of,
    short,
    sound_time,
    step_of,
    total_in,
    value_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.domain.logs.tracker import TrackerRun
    from jobmon_core.observe.logs.scan_dirs import FoundFile
    from jobmon_core.observe.trackers.files import Look

_NAME = re.compile(r"run-(?P<id>.+)\.wandb")
_FOLDERS = 3  # the folder of the program, wandb, and that of a run
_MAGIC = b":W&B\xe1\xbe\x00"
_BLOCK = 2**15
_HEAD = struct.Struct("<IHB")
_FULL, _FIRST, _LAST = 1, 2, 4
_END = 2 * 2**20  # so much of a long file is read, after what is read first, which describes the run
_MAX_SUMMARY, _MAX_ALERTS = 2**20, 32
_LEVELS = {"INFO": Severity.INFO, "WARN": Severity.WARNING, "ERROR": Severity.CRITICAL}


def look(this: Look) -> Iterator[TrackerRun]:
    """Yield the runs at a place: a .wandb file, the folder of a run, or one up to two levels above."""
    for run_id, files in this.groups(lambda name: bool(_NAME.fullmatch(name)), _FOLDERS, _id_of):
        yield _run_of(run_id, files, this)


def _id_of(path: str) -> str:
    return short(os.path.basename(path)[len("run-") : -len(".wandb")])  # noqa: PTH119 - a text


def _run_of(run_id: str, files: list[FoundFile], this: Look) -> TrackerRun:
    # the names of the folders begin with the time of the start, after a word
    files.sort(key=lambda file: file.path.rpartition("run-2")[2])
    folder = os.path.dirname(files[-1].path)  # noqa: PTH120 - a text
    run = this.run(run_id, folder, files)
    if not run.read:
        run.status = RunStatus.RUNNING
    for file in files:
        this.read_on(run, file, partial(_read, run))
    # some versions write the summary more often than the records
    summary = flat(object_of(read_regular(f"{folder}/files/wandb-summary.json", _MAX_SUMMARY)))
    if (step_of(summary.get("_step")) or 0) > (run.step or 0):
        _add(run, summary)
    return run


def _read(run: TrackerRun, data: bytes, start: int, size: int) -> Iterator[int]:
    """Read the records from ``start``; yield where each ends."""
    for end, message in _records(data, start, size):
        record = dict(fields(message))
        for kind, content in record.items():
            if isinstance(content, bytes):
                _read_record(run, kind, content, record.get(1))
        yield end


def _read_record(run: TrackerRun, kind: int, content: bytes, number: object) -> None:
    match kind:
        case 2:
            _add(run, _items(content))
        case 5:
            run.total_steps = total_in(_items(content)) or run.total_steps
        case 10:
            _alert(run, content, f"{run.run_id}/{run.resumed_s or run.started_s}/{number}")
        case 17:
            _begin(run, dict(fields(content)))
        case 18:
            code = dict(fields(content)).get(1, 0)
            run.status = RunStatus.FAILED if code else RunStatus.FINISHED


def _add(run: TrackerRun, record: dict[str, object]) -> None:
    add_record(run, record, record.get("_step"), record.get("_timestamp"))


def _alert(run: TrackerRun, content: bytes, name: str) -> None:
    parts = dict(fields(content))
    title, text, level = (_text(parts.get(each), MAX_TEXT) for each in (1, 2, 3))
    severity = _LEVELS.get(level.upper(), Severity.INFO)
    alert = TrackerAlert(name, title, text, severity, run.step, run.updated_s)
    run.alerts = (*run.alerts, alert)[-_MAX_ALERTS:]


def _begin(run: TrackerRun, record: dict[int, int | bytes]) -> None:
    """Note the record of the run itself, which is repeated when something of it changes."""
    if isinstance(config := record.get(4), bytes):
        run.total_steps = total_in(_items(config)) or run.total_steps
    run.name = _text(record.get(8), MAX_NAME) or run.name
    started_s = _timestamp(record.get(17))
    if started_s not in (None, run.started_s, run.resumed_s):
        run.start(started_s)
        run.status = RunStatus.RUNNING


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


def _records(data: bytes, start: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield the whole records of a file from ``start``: where each ends, and its message.

    Raises:
        Damaged: what follows is no record.
    """
    if start == 0 and not data.startswith(_MAGIC):
        raise Damaged("is no file of W&B")
    at, end, pieces = start, start + len(data), list[bytes]()
    for after, kind, piece in _fragments(data, start):
        if kind in (_FULL, _FIRST):
            pieces.clear()
        elif not pieces:  # its beginning was skipped
            continue
        pieces.append(piece)
        if kind in (_FULL, _LAST):
            at = after
            yield at, b"".join(pieces)
            pieces.clear()
    if size - end > _END:
        yield (size - _END) // _BLOCK * _BLOCK, b""
    elif at == start and end < size:  # a record that is larger than what is read at once
        yield end // _BLOCK * _BLOCK, b""


def _fragments(data: bytes, start: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield the parts of records: where each ends, which part it is, and its bytes."""
    at, end = max(start, len(_MAGIC)), start + len(data)
    while at + _HEAD.size <= end:
        left = _BLOCK - at % _BLOCK - _HEAD.size
        if left < 0:  # it is filled up with zeros
            at += _HEAD.size + left
            continue
        checksum, length, kind = _HEAD.unpack_from(data, at - start)
        begin = at - start + _HEAD.size
        piece = data[begin : begin + length]
        if not (checksum or length or kind) or len(piece) < length <= left:
            return  # it is still written, or continues in what is read next
        is_whole = _FULL <= kind <= _LAST and len(piece) == length <= left
        if not is_whole or checksum != zlib.crc32(piece, zlib.crc32(bytes((kind,)))):
            raise Damaged(f"has a damaged record at byte {at:,}: what follows is not read")
        at += _HEAD.size + length
        yield at, kind, piece
