"""The copy of a job's log on this machine: it is read like any other log, and it is bounded.

Each look adds the new bytes. What a look left out because it was too much, or a log that was replaced,
is noted in the copy by a line of its own.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.scheduler.ssh.records import CopyState
from jobmon_core.system.files import open_private

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon_core.domain.hosts.model import SeenLog
    from jobmon_core.scheduler.ssh.records import JobFolder

MAX_COPY_BYTES = 32 * 1024 * 1024  # then a new file is started; one older part is kept


def next_offset(folder: JobFolder, copy: Path) -> CopyState:
    """Return the inode of the log that was copied, and as ``base`` the offset of the next byte to copy."""
    with suppress(OSError, StateUnreadable):  # then the copy goes on with the end of the log
        state = folder.copy_state()
        return CopyState(state.inode, state.base + _size(copy)) if state.inode else state
    return CopyState()


def add_to_copy(folder: JobFolder, copy: Path, seen: SeenLog) -> None:
    """Append the new bytes of a log to its copy; bytes that it has already are left out.

    Raises:
        OSError, StorageFailed: the copy cannot be written.
    """
    known = next_offset(folder, copy)
    end = seen.from_bytes + len(seen.data)
    data, note = seen.data, ""
    if known.inode != seen.file.inode or seen.file.size_bytes < known.base:
        if seen.from_bytes and known.inode == seen.file.inode:
            return  # a monitor on another machine has copied more meanwhile
        note = "the log was replaced here" if known.inode else ""
        if seen.from_bytes:
            note = f"the first {seen.from_bytes} bytes of the log are left out"
    elif seen.from_bytes > known.base:
        note = f"{seen.from_bytes - known.base} bytes of the log are left out here"
    else:
        data = data[known.base - seen.from_bytes :]  # likewise, it may have copied some of it
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
