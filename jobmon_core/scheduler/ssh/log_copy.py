"""The copy of a job's log on this machine: it is read like any other log, and it is bounded.

Each look adds the new bytes. What a look left out because it was too much, or a log that was replaced,
is noted in the copy by a line of its own.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.scheduler.ssh.records import CopyState
from jobmon_core.system.files import open_private

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon_core.domain.hosts.model import SeenLog
    from jobmon_core.scheduler.ssh.records import JobFolder

MAX_COPY_BYTES = 32 * 1024 * 1024  # then a new file is started; one older part is kept


class CopyPosition(NamedTuple):
    """How far a log has been copied."""

    inode: str = ""  # of the log; empty if nothing was copied yet
    next_byte: int = 0  # offset in the log


def copy_position(folder: JobFolder, copy: Path) -> CopyPosition:
    """Return how far a log was copied; if that cannot be read, its beginning, so that it is copied again."""
    with suppress(OSError, StateUnreadable):
        state = folder.copy_state()
        return CopyPosition(state.inode, state.base + _size(copy)) if state.inode else CopyPosition()
    return CopyPosition()


def add_to_copy(folder: JobFolder, copy: Path, seen: SeenLog) -> None:
    """Append the new bytes of a log to its copy; bytes that it has already are left out.

    Raises:
        OSError, StorageFailed: the copy cannot be written.
    """
    known = copy_position(folder, copy)
    end = seen.from_bytes + len(seen.data)
    data, note = seen.data, ""
    if known.inode != seen.file.inode or seen.file.size_bytes < known.next_byte:
        if seen.from_bytes and known.inode == seen.file.inode:
            return  # another monitor has copied more, or the log was truncated: wait until it is longer
        note = "the log was replaced here" if known.inode else ""
        if seen.from_bytes:
            note = f"the first {seen.from_bytes} bytes of the log are left out"
    elif seen.from_bytes > known.next_byte:
        note = f"{seen.from_bytes - known.next_byte} bytes of the log are left out here"
    else:
        data = data[known.next_byte - seen.from_bytes :]  # another monitor may have copied some of it
    if not data and not note and known.inode:
        return
    if _size(copy) > MAX_COPY_BYTES:
        os.replace(copy, f"{copy}.1")  # noqa: PTH105 - one call that names both
    text = f"[jobmon: {note}]\n".encode() if note else b""
    with open(open_private(copy, os.O_WRONLY | os.O_APPEND), "ab") as file:
        if text and _size(copy) and not _ends_line(copy):
            text = b"\n" + text
        file.write(text + data)
    state = CopyState(seen.file.inode, end - _size(copy))
    with suppress(StateUnreadable):
        if state == folder.copy_state():
            return
    folder.save_copy_state(state)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _ends_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
