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
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.logs.tracker import RunStatus, Tracker, TrackerRun
from jobmon_core.observe.trackers.building import (
    RunBuilder,
    object_of,
    real_of,
    short,
    step_of,
    time_of,
    value_of,
    within,
)
from jobmon_core.observe.trackers.files import Look, look_at_groups, position
from jobmon_core.observe.trackers.protobuf import Damaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.domain.logs.tracker import Cursor
    from jobmon_core.observe.logs.scan_dirs import FoundFile
    from jobmon_core.observe.trackers.building import Limits
    from jobmon_core.observe.trackers.files import Found, OpenFile

# the time of the start, the task, and an id that a log keeps when its task is retried in a new one
_NAME = re.compile(
    r"(?:(?P<at>\d{4}-\d\d-\d\dT[\d-]*)[+-]\d\d-\d\d_)?(?P<task>.*?)(?P<id>[^_]*)\.(?:eval|json)"
)
_LEVELS = 2
_STATUS = {
    "started": RunStatus.RUNNING,
    "success": RunStatus.FINISHED,
    "error": RunStatus.FAILED,
    "cancelled": RunStatus.KILLED,
}
_START, _HEADER = "_journal/start.json", "header.json"
_SUMMARIES, _SAMPLES = "_journal/summaries/", "samples/"
_MAX_JSON = 2**24
# of the samples that were stopped because another one failed
_STOPPED = "CancelledError("
_ZIP_HEAD = struct.Struct(
    "<4s2xHH4xIIIHH"
)  # flags, method, checksum, sizes; lengths of the name and the extras
_ENTRY, _DIRECTORY = b"PK\x03\x04", b"PK\x01\x02"
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_IS_STREAMED = 0x8  # then the sizes follow the data
_UNKNOWN = 0xFFFFFFFF  # of files of more than 4 GiB, which no log has
_MAX_PACKED, _MAX_UNPACKED = 2**22, 2**24


def look(place: str, before: Cursor | None, limits: Limits) -> Found:
    """Return the tasks whose logs are at ``place``, a log or a folder of up to two levels."""
    this = Look(place, before, limits)
    return look_at_groups(this, _is_log, _LEVELS, lambda file: _parts(file)["id"], _run_of)


def _is_log(name: str) -> bool:
    parts = _NAME.fullmatch(name)
    return parts is not None and (name.endswith(".eval") or parts["at"] is not None)


def _parts(file: FoundFile) -> dict[str, str]:
    parts = _NAME.fullmatch(os.path.basename(file.path))  # noqa: PTH119 - a text
    return parts.groupdict("") if parts else {"id": ""}


def _run_of(task_id: str, files: list[FoundFile], this: Look) -> TrackerRun:
    """Return what the latest log of a task says; that of a retry begins with the samples that were done."""
    *earlier, file = sorted(files, key=lambda file: file.path)
    is_document = file.path.endswith(".json")
    known = next(iter(this.runs_at(file)), None)
    if is_document and this.position_before(file)[1:4] != position(file)[1:4]:
        known = None  # it is written anew
    run = known or TrackerRun(Tracker.INSPECT, short(task_id, this.limits.max_name), place=file.path)
    builder = _Evaluation(run, this.limits)
    read = builder.read_document if is_document else builder.read_archive
    run = builder.built(this.read_on(file, known, read))
    if known is None and earlier:
        date, _, time = _parts(earlier[0]).get("at", "").partition("T")
        first_s = time_of(f"{date}T{time.replace('-', ':')}")
        run = replace(run, started_s=first_s or run.started_s, resumed_s=run.started_s)
    return run


class _Evaluation(RunBuilder):
    def read_archive(self, file: OpenFile, start: int) -> Iterator[int]:
        """Read the entries from ``start``; yield where each ends."""
        is_packed = False
        for entry in _entries(file, start):
            self._read_entry(entry, file)
            is_packed |= not _can_unpack(entry.method)
            yield entry.end
        if is_packed:
            raise Damaged(
                "is packed so that only its samples can be counted here: install the library libzstd"
            )

    def read_document(self, file: OpenFile, start: int) -> Iterator[int]:  # noqa: ARG002 - of all readers
        """Read all of a log in JSON."""
        if file.size > _MAX_JSON:
            raise Damaged("is too large to be read")
        content = object_of(file.read_at(0, file.size))
        if not content:
            raise Damaged("is no whole log: it may be written just now")
        self._describe(content)
        samples = content.get("samples")
        if isinstance(samples, list):
            self._note_samples(samples)
            self.reach(len(samples), None)
        self._conclude(content)
        yield file.size

    def _read_entry(self, entry: _Entry, file: OpenFile) -> None:
        if entry.name.startswith(_SAMPLES):
            done = (self.step or 0) + 1
            # the log of a retry may have a sample twice
            self.reach(min(done, self.run.total_steps or done), None)
        if entry.name not in (_START, _HEADER) and not entry.name.startswith(_SUMMARIES):
            return
        content = value_of(entry.content(file))
        if entry.name == _START:
            self._describe(content)
        elif entry.name == _HEADER:
            self._describe(content)
            self._conclude(content)
        elif isinstance(content, list):
            self._note_samples(content)

    def _describe(self, content: object) -> None:
        """Note what is evaluated; the log has an ``eval`` from its start on."""
        limits, run = self.limits, self.run
        samples = step_of(within(content, "eval", "dataset", "samples"))
        epochs = step_of(within(content, "eval", "config", "epochs")) or 1
        self.run = replace(
            run,
            name=short(within(content, "eval", "task"), limits.max_name) or run.name,
            status=RunStatus.RUNNING,
            total_steps=run.total_steps if samples is None else step_of(samples * epochs),
        )
        if run.started_s is None:
            self.start(time_of(within(content, "eval", "created")))

    def _conclude(self, content: object) -> None:
        """Note how it ended, and the scores; a log in JSON has these words while it runs, too."""
        run = self.run
        total = step_of(within(content, "results", "total_samples"))
        status = _STATUS.get(str(within(content, "status")), RunStatus.UNKNOWN)
        ended_s = time_of(within(content, "stats", "completed_at"))
        self.run = replace(
            run,
            status=status,
            total_steps=total or run.total_steps,
            ended_s=None if status is RunStatus.RUNNING else ended_s,
            error=short(within(content, "error", "message"), self.limits.max_text),
        )
        self.reach(step_of(within(content, "results", "completed_samples")), ended_s)
        for name, value in _scores(content):
            self.add(name, value, None, ended_s)

    def _note_samples(self, samples: list[object]) -> None:
        """Note which samples failed, of their summaries or of themselves."""
        limits, run = self.limits, self.run
        failures = []
        for sample in samples:
            error = within(sample, "error", "message") or within(sample, "error")
            self.reach(None, time_of(within(sample, "completed_at")))
            if isinstance(error, str) and not error.startswith(_STOPPED):
                failures.append(short(f"sample {_named(sample)}: {error}", limits.max_text))
        kept = (*run.failures, *failures)[: limits.max_failures]
        self.run = replace(run, failed=run.failed + len(failures), failures=kept)


def _named(sample: object) -> str:
    name, epoch = within(sample, "id"), within(sample, "epoch")
    return str(name) if epoch in (None, 1) else f"{name}, epoch {epoch}"


def _scores(content: object) -> Iterator[tuple[str, float]]:
    """Yield the metrics of each score, e.g. ``match/accuracy``."""
    scores = within(content, "results", "scores")
    for score in scores if isinstance(scores, list) else ():
        metrics = within(score, "metrics")
        for name, metric in metrics.items() if isinstance(metrics, dict) else ():
            value = real_of(within(metric, "value"))
            if value is not None and not math.isnan(value):
                yield f"{within(score, 'name')}/{name}", value


class _Entry(NamedTuple):
    """A file in an archive."""

    end: int  # where the next one begins
    name: str
    method: int
    checksum: int
    size: int  # bytes, unpacked
    data_at: int

    def content(self, file: OpenFile) -> bytes | None:
        """Return what is in it; None if that is too large, damaged, or packed in an unknown way."""
        packed_size = self.end - self.data_at
        if packed_size > _MAX_PACKED or self.size > _MAX_UNPACKED:
            return None
        packed = file.read_at(self.data_at, packed_size)
        content = _unpacked(packed, self.method, self.size)
        return content if content is not None and zlib.crc32(content) == self.checksum else None


def _entries(file: OpenFile, at: int) -> Iterator[_Entry]:
    """Yield the whole files of an archive from the one that begins ``at`` this byte.

    Raises:
        Damaged: what follows is neither a file nor the archive's directory.
    """
    while file.left > 0 and at + _ZIP_HEAD.size <= file.size:
        signature, flags, method, checksum, packed, size, name_size, extras_size = _ZIP_HEAD.unpack(
            file.read_at(at, _ZIP_HEAD.size)
        )
        if signature != _ENTRY:
            if signature == _DIRECTORY:
                return
            raise Damaged(f"has no zip entry at byte {at:,}: what follows is not read")
        if _UNKNOWN in (packed, size) or (flags & _IS_STREAMED and not packed):
            raise Damaged(f"has a zip entry of unknown size at byte {at:,}: what follows is not read")
        data_at = at + _ZIP_HEAD.size + name_size + extras_size
        at = data_at + packed
        if at > file.size:  # it is still written
            return
        name = file.read_at(data_at - name_size - extras_size, name_size).decode("utf-8", "replace")
        yield _Entry(at, name, method, checksum, size, data_at)


def _can_unpack(method: int) -> bool:
    """Whether what is packed like this can be read here."""
    return method in (_STORED, _DEFLATED) or (method == _ZSTANDARD and _libzstd() is not None)


def _unpacked(packed: bytes, method: int, size: int) -> bytes | None:
    if method == _STORED:
        return packed
    if method == _DEFLATED:
        try:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, size + 1)
        except zlib.error:
            return None
    library = _libzstd()
    if method != _ZSTANDARD or library is None:
        return None
    room = ctypes.create_string_buffer(size)
    written = library.ZSTD_decompress(room, size, packed, len(packed))
    return room.raw[:written] if not library.ZSTD_isError(written) else None


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
