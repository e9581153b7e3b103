"""Add lines to the history, and read them."""

from __future__ import annotations

import json
import os
import time
from typing import IO, TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.system.files import open_private, private_folder, storage_errors
from jobmon_core.system.json_codec import from_json, to_json
from jobmon_core.system.lock import lock

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MAX_LINE_BYTES = 64 * 1024  # a longer line is not ours


def append(folder: Path, records: Iterable[HistoryRecord], host: str, now_s: float) -> None:
    """Add lines to the file of this host and month; they survive a power cut.

    Raises:
        StorageFailed: nothing was added.
    """
    lines = b"".join(json.dumps(to_json(each), separators=(",", ":")).encode() + b"\n" for each in records)
    month = time.strftime("%Y-%m", time.gmtime(now_s))
    path = private_folder(folder) / f"{month}.{host.partition('.')[0]}.jsonl"
    with storage_errors(path, "written"):
        descriptor = open_private(path, os.O_RDWR | os.O_APPEND)
        with lock(folder / "append.lock"), open(descriptor, "r+b", buffering=0) as file:
            _append(file, lines)


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
