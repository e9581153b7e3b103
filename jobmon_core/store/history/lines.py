"""Add lines to the history, and read them."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.history.record import HistoryKey, HistoryRecord
from jobmon_core.system.files import open_private, private_folder, storage_errors, sync_folder
from jobmon_core.system.json_codec import from_json, to_json
from jobmon_core.system.lock import lock

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MAX_LINE_BYTES = 64 * 1024  # a longer line is not ours
_RECENT_BYTES = 256 * 1024  # of each file: some 350 runs
_RECENT_MONTHS = 2
_MAX_AHEAD_S = 86_400.0  # by which the clock of another host may be ahead
_MONTH = len("2026-11")


def append(folder: Path, records: Iterable[HistoryRecord], host: str, now_s: float) -> None:
    """Add lines to the file of this host and month; they survive a power cut.

    Raises:
        StorageFailed: nothing was added.
    """
    lines = b"".join(json.dumps(to_json(each), separators=(",", ":")).encode() + b"\n" for each in records)
    path = private_folder(folder) / f"{_month(now_s)}.{host.partition('.')[0]}.jsonl"
    with storage_errors(path, "written"), lock(folder / "append.lock"):
        descriptor = open_private(path, os.O_RDWR | os.O_APPEND)
        with open(descriptor, "r+b", buffering=0) as file:
            is_new = not file.seek(0, os.SEEK_END)
            _append(file, lines)
        if is_new:
            sync_folder(folder)


def _month(at_s: float) -> str:
    return time.strftime("%Y-%m", time.gmtime(at_s))


def _append(file: IO[bytes], lines: bytes) -> None:
    """Append whole lines, or nothing; a line that a power cut tore is ended first."""
    end = file.seek(0, os.SEEK_END)
    if end:
        file.seek(end - 1)
        if file.read(1) != b"\n":
            lines = b"\n" + lines
    try:
        while lines:
            lines = lines[file.write(lines) :]
        os.fsync(file.fileno())
    except OSError:
        os.ftruncate(file.fileno(), end)
        raise


def recent(folder: Path, now_s: float, name: str = "") -> list[HistoryRecord]:
    """Return runs of the latest two months, as far as the ends of their files go, or only those of a name.

    Without the index, which a monitor's child need not load. What cannot be read is left out. Months that
    have not begun, since the clock of a host was far ahead, are read too, but do not count as the latest.
    """
    last_s = now_s + _MAX_AHEAD_S
    names = sorted((path.name for path in folder.glob("*.jsonl")), reverse=True)
    begun = sorted({each[:_MONTH] for each in names if each[:_MONTH] <= _month(last_s)}, reverse=True)
    first = min(begun[:_RECENT_MONTHS], default="")
    wanted = json.dumps(name).encode()
    found: dict[HistoryKey, HistoryRecord] = {}
    for path in (folder / each for each in reversed(names) if each[:_MONTH] >= first):
        for line in _last_lines(path):
            if not name or wanted in line:
                with suppress(ValueError):  # torn, or written by something else
                    record = from_json(HistoryRecord, json.loads(line))
                    before = found.get(record.key, record)
                    found[record.key] = max(record, before, key=lambda each: each.precedence)
    return [each for each in found.values() if not each.deleted and (each.ended_s or 0) <= last_s]


def _last_lines(path: Path) -> list[bytes]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _RECENT_BYTES))
            return file.read(_RECENT_BYTES).splitlines()
    except OSError:
        return []


def read_lines(folder: Path, places: Iterable[tuple[str, int]]) -> list[HistoryRecord]:
    """Return the records at these places: names of files, and offsets in them.

    Raises:
        StorageFailed: a file cannot be read.
    """
    found: list[HistoryRecord] = []
    files: dict[str, IO[bytes]] = {}
    try:
        for name, place in places:
            if name not in files:
                files[name] = (folder / name).open("rb")
            files[name].seek(place)
            found.append(from_json(HistoryRecord, json.loads(files[name].readline(MAX_LINE_BYTES))))
    except (OSError, ValueError) as error:
        raise StorageFailed(f"{folder} cannot be read: {error}") from error
    finally:
        for file in files.values():
            file.close()
    return found
