"""Read the logs of inspect-ai: of a task that is evaluated, which samples are done, which failed, and why.

Formats: those of inspect-ai 0.3.285 (log/_recorders of https://github.com/UKGovernmentBEIS/inspect_ai). A log
``.eval`` is a zip archive to which samples are added, and at the end ``header.json``; a log ``.json`` is one
document. A zip archive is read from its start, so that one whose end is missing can be read too
(https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT). Zstandard (method 93) is unpacked by the
system's libzstd, which most Linux systems have; Python has it from 3.14 on.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
import struct
import zlib
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.logs.tracker import Position, RunStatus, TrackerRun
from jobmon_core.observe.logs.open_file import Unreadable, regular_file
from jobmon_core.observe.trackers.files import Damaged
from jobmon_core.observe.trackers.values import (
    MAX_TEXT,
    add,
    items_of,
    object_of,
    real_of,
    short,
    step_of,
    time_of,
    value_of,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.observe.logs.open_file import RegularFile
    from jobmon_core.observe.logs.scan_dirs import FoundFile
    from jobmon_core.observe.trackers.files import Look

# the time of the start, the task, and an id that a log keeps when its task is retried in a new one
_NAME = re.compile(r"\d{4}-\d\d-\d\dT.*\.json|.*\.eval")
_LEVELS = 2
_STATUS = {
    "started": RunStatus.RUNNING,
    "success": RunStatus.FINISHED,
    "error": RunStatus.FAILED,
    "cancelled": RunStatus.KILLED,
}
_START, _HEADER = "_journal/start.json", "header.json"
_SUMMARIES, _SAMPLES = "_journal/summaries/", "samples/"
_MAX_FAILURES = 5
# of the samples that were stopped because another one failed
_STOPPED = "CancelledError("
# flags, method, checksum, sizes; lengths of the name and the extras
_ZIP_HEAD = struct.Struct("<4s4xH4xIIIHH")
_ENTRY, _DIRECTORY = b"PK\x03\x04", b"PK\x01\x02"
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_MAX_ENTRIES, _MAX_JSON = 100_000, 2**24  # bytes, unpacked


def look(this: Look) -> Iterator[TrackerRun]:
    """Yield the tasks whose logs are at a place, a log or a folder of up to two levels."""
    for task_id, files in this.groups(lambda name: bool(_NAME.fullmatch(name)), _LEVELS, _id_of):
        yield _run_of(task_id, files, this)


def _id_of(path: str) -> str:
    return short(os.path.basename(path).rpartition("_")[2].rpartition(".")[0])  # noqa: PTH119 - a text


def _run_of(task_id: str, files: list[FoundFile], this: Look) -> TrackerRun:
    """Return what the latest log of a task says; that of a retry begins with the samples that were done."""
    first, latest = files[0], files[-1]
    read = {latest.path: Position(latest.modified_ns, latest.size_bytes)}
    before = next((run for run in this.before if run.run_id == task_id), None)
    if before and before.read == read:
        return before
    run = _read(TrackerRun(this.tracker, task_id, place=latest.path, read=read), this)
    if before and run.partial and run.step is None:  # it may be written just now
        return replace(before, partial=run.partial, read=read)
    if first is not latest:
        run.resumed_s = run.started_s
        run.started_s = _read(TrackerRun(this.tracker, task_id, place=first.path), this).started_s
    return run


def _read(run: TrackerRun, this: Look) -> TrackerRun:
    try:
        with regular_file(run.place) as file:
            read = _read_document if run.place.endswith(".json") else _read_archive
            read(run, file)
    except (Unreadable, Damaged) as error:
        run.partial = f"{this.name_of(run.place)} {error}"
    return run


def _read_document(run: TrackerRun, file: RegularFile) -> None:
    if file.size > _MAX_JSON:
        raise Damaged("is too large to be read")
    content = object_of(file.read_at(0, file.size))
    if not content:
        raise Damaged("is no whole log: it may be written just now")
    samples = items_of(content.get("samples"))
    run.reach(len(samples), None)
    _describe(run, content)
    _note_samples(run, samples)
    _conclude(run, content)


def _read_archive(run: TrackerRun, file: RegularFile) -> None:
    is_packed, left = False, _MAX_JSON
    for entry in islice(_entries(file), _MAX_ENTRIES):
        is_packed |= not _can_unpack(entry.method)
        if entry.name.startswith(_SAMPLES):
            done = (run.step or 0) + 1
            # the log of a retry may have a sample twice
            run.reach(min(done, run.total_steps or done), None)
        elif entry.name == _START:
            _describe(run, entry.content(file))
        elif entry.name == _HEADER:
            header = entry.content(file)
            _describe(run, header)
            _conclude(run, header)
        elif entry.name.startswith(_SUMMARIES) and (left := left - entry.size) > 0:
            _note_samples(run, items_of(entry.content(file)))
    if is_packed:
        raise Damaged("is packed so that only its samples can be counted here: install the library libzstd")


def _describe(run: TrackerRun, content: object) -> None:
    """Note what is evaluated; the log has an ``eval`` from its start on."""
    samples = step_of(within(content, "eval", "dataset", "samples"))
    epochs = step_of(within(content, "eval", "config", "epochs")) or 1
    run.name = short(within(content, "eval", "task")) or run.name
    run.status = RunStatus.RUNNING
    run.total_steps = run.total_steps if samples is None else step_of(samples * epochs)
    run.started_s = run.started_s or time_of(within(content, "eval", "created"))


def _conclude(run: TrackerRun, content: object) -> None:
    """Note how it ended, and the scores; a log in JSON has these words while it runs, too."""
    ended_s = time_of(within(content, "stats", "completed_at"))
    run.status = _STATUS.get(str(within(content, "status")), RunStatus.UNKNOWN)
    run.total_steps = step_of(within(content, "results", "total_samples")) or run.total_steps
    run.error = short(within(content, "error", "message"), MAX_TEXT)
    run.reach(step_of(within(content, "results", "completed_samples")), ended_s)
    for score in items_of(within(content, "results", "scores")):
        metrics = within(score, "metrics")
        for name, metric in metrics.items() if isinstance(metrics, dict) else ():
            value = real_of(within(metric, "value"))
            if value is not None and not math.isnan(value):
                add(run, f"{within(score, 'name')}/{name}", value, None, ended_s)


def _note_samples(run: TrackerRun, samples: list[object]) -> None:
    """Note which samples failed, of their summaries or of themselves."""
    for sample in samples:
        error = within(sample, "error", "message") or within(sample, "error")
        run.reach(None, time_of(within(sample, "completed_at")))
        if isinstance(error, str) and not error.startswith(_STOPPED):
            run.failed += 1
            failure = short(f"sample {_named(sample)}: {error}", MAX_TEXT)
            run.failures = (*run.failures, failure)[:_MAX_FAILURES]


def _named(sample: object) -> str:
    name, epoch = within(sample, "id"), within(sample, "epoch")
    return str(name) if epoch in (None, 1) else f"{name}, epoch {epoch}"


class _Entry(NamedTuple):
    """A file in an archive; sizes in bytes."""

    name: str
    method: int
    checksum: int
    packed: int
    size: int
    at: int  # where its content begins

    def content(self, file: RegularFile) -> object:
        """Return the JSON in it; None if that is too large, damaged, or packed in an unknown way."""
        if max(self.packed, self.size) > _MAX_JSON or not _can_unpack(self.method):
            return None
        content = _unpacked(file.read_at(self.at, self.packed), self.method, self.size)
        return value_of(content) if zlib.crc32(content) == self.checksum else None


def _entries(file: RegularFile) -> Iterator[_Entry]:
    """Yield the whole files of an archive.

    Raises:
        Damaged: what follows is neither a file nor the archive's directory.
    """
    at = 0
    while at + _ZIP_HEAD.size <= file.size:
        head = _ZIP_HEAD.unpack(file.read_at(at, _ZIP_HEAD.size))
        signature, method, checksum, packed, size, name_size, extras_size = head
        if signature == _DIRECTORY:
            return
        if signature != _ENTRY:
            raise Damaged(f"has no zip entry at byte {at:,}: what follows is not read")
        begin = at + _ZIP_HEAD.size + name_size + extras_size
        name = file.read_at(at + _ZIP_HEAD.size, name_size).decode("utf-8", "replace")
        at = begin + packed
        if at > file.size:  # it is still written
            return
        yield _Entry(name, method, checksum, packed, size, begin)


def _can_unpack(method: int) -> bool:
    """Whether what is packed like this can be read here."""
    return method in (_STORED, _DEFLATED) or (method == _ZSTANDARD and _libzstd() is not None)


def _unpacked(packed: bytes, method: int, size: int) -> bytes:
    """Return what is packed; something else if that is damaged."""
    library = _libzstd()
    if method == _ZSTANDARD and library is not None:
        room = ctypes.create_string_buffer(size)
        written = library.ZSTD_decompress(room, size, packed, len(packed))
        return b"" if library.ZSTD_isError(written) else room.raw[:written]
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, size + 1) if method else packed
    except zlib.error:
        return b""


@cache
def _libzstd() -> ctypes.CDLL | None:
    """Return the library, https://facebook.github.io/zstd/zstd_manual.html; None if it is not installed."""
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        return None
    library.ZSTD_decompress.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_isError.argtypes = (ctypes.c_size_t,)
    return library
