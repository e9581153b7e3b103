"""The local copy of a driver's log. Ray gives only the last lines; each answer is joined to the one before.

A copy is two files: the log, which becomes ``driver.log.1`` when it is too large, and the latest answer with
the size that the log had then. So one that was cut off while it was written is repaired by the next answer.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.scheduler.ray.api import MAX_TAIL_BYTES
from jobmon_core.system.files import read_own, write_atomically

if TYPE_CHECKING:
    from pathlib import Path

LINES = 1000
_MAX_COPY_BYTES = 64 << 20
GAP = b"[jobmon: lines of the driver's log are missing here; Ray keeps the whole log]\n"


def new_part(before: bytes, now: bytes) -> tuple[bytes, bool]:
    """What the last lines of a log (``now``) add to earlier ones, and whether a gap is before it.

    Where lines repeat, the longest overlap counts, so that nothing is added twice.
    """
    if not before or not now:
        return now, False
    first = now[: now.find(b"\n") + 1] or now
    position, view = before.find(first), memoryview(before)
    while position >= 0:
        length = len(before) - position
        is_line_start = position == 0 or before[position - 1] == ord("\n")
        if is_line_start and now[:length] == view[position:]:
            return now[length:], False
        position = before.find(first, position + 1)
    unfinished = before[before.rfind(b"\n") + 1 :]
    if unfinished and now.startswith(unfinished):
        return now[len(unfinished) :], False
    return now, True


def add_to_copy(folder: Path, tail: bytes, lines: int = LINES) -> None:
    """Append what the latest answer adds; ``lines`` were asked for."""
    log, state = folder / "driver.log", folder / "driver.tail"
    size, before = _state(state)
    text, has_gap = new_part(before, tail)
    is_cut = not before and tail.count(b"\n") >= lines
    if has_gap or is_cut:
        text = GAP + text
    if not text and log.exists():
        return
    if size > _MAX_COPY_BYTES:
        with suppress(FileNotFoundError):
            os.replace(log, f"{log}.1")  # noqa: PTH105 - one call that names both
        size = 0
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.truncate(size)
        file.seek(size)
        file.write(text)
    size += len(text)
    write_atomically(state, b"%d\n" % size + tail, durable=False)


def _state(path: Path) -> tuple[int, bytes]:
    try:
        content = read_own(path, 2 * MAX_TAIL_BYTES)
        size, _, tail = content.partition(b"\n")
        return int(size), tail
    except (OSError, ValueError):
        return 0, b""


def copy_message(folder: Path, message: str) -> None:
    """Write Ray's message into an empty copy."""
    log = folder / "driver.log"
    if message and not (log.exists() and log.stat().st_size):
        write_atomically(log, message.encode("utf-8", "replace").rstrip() + b"\n", durable=False)
