"""The last lines of a log, whatever lies at its path.

Time and memory depend on the bounds below, not on the file. Nothing here raises: what hinders the
reading is part of the answer. Only regular files are opened, since opening a pipe would wake its writer.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from jobmon_core.domain.rules import Line
from jobmon_core.domain.text import clean_line, decode_lines, is_binary

MAX_LINES = 500
MAX_BYTES = 512 * 1024

_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: "does not exist: a part of its path is no folder",
    errno.EACCES: "may not be read: no permission",
    errno.EPERM: "may not be read: no permission",
    errno.ESTALE: "was deleted on its file server while it was read",
    errno.ELOOP: "is a symbolic link that leads in a circle",
    errno.EIO: "could not be read: the storage reports an error",
    errno.ENAMETOOLONG: "does not exist: its name is too long for a file",
}


@dataclass(frozen=True, slots=True)
class LogTail:
    """The end of a log, cleaned for reading."""

    path: str
    lines: tuple[Line, ...] = ()
    size: int = 0  # bytes of the whole file
    problem: str = ""  # why there are no lines, as the end of a sentence on the path; empty if all is well


def read_tail(path: str, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> LogTail:
    """Read the last ``max_lines`` lines of ``path`` from its last ``max_bytes`` bytes.

    Lines are numbered where the whole file was read; otherwise their numbers are None, as counting
    them would mean to read what may be gigabytes.
    """
    try:
        reason = _why_no_log(Path(path).stat().st_mode, path)
        if reason:
            return LogTail(path, problem=reason)
        data, size = _last_bytes(path, max_bytes)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        return LogTail(path, problem=_reason(error))
    if not data:
        return LogTail(path, size=size, problem="is empty")
    if is_binary(data):
        return LogTail(path, size=size, problem="is a binary file, not a log")
    return LogTail(path, _lines(path, data, size, max_lines), size)


def _why_no_log(mode: int, path: str) -> str:
    """Return why a thing of this kind holds no log, or nothing for a regular file."""
    if stat.S_ISREG(mode):
        return ""
    if os.path.normpath(path) == os.devnull:
        return "keeps nothing: the output was thrown away"
    if stat.S_ISDIR(mode):
        return "is a folder"
    if stat.S_ISFIFO(mode):
        return "is a pipe, which keeps nothing"
    if stat.S_ISSOCK(mode):
        return "is a socket, which keeps nothing"
    return "is a device, which keeps nothing"


def _reason(error: OSError | ValueError) -> str:
    known = _REASONS.get(error.errno or 0) if isinstance(error, OSError) else None
    return known or f"could not be read: {getattr(error, 'strerror', None) or error}"


def _last_bytes(path: str, max_bytes: int) -> tuple[bytes, int]:
    """Return the last bytes of a regular file, cut at a line where there is one, and the file's size.

    Raises:
        OSError: it is gone or unreadable, or was replaced by something that is no regular file.
    """
    # non-blocking, because the path may have become a pipe since it was looked at
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it was replaced by something else while it was read")
        offset = max(0, status.st_size - max_bytes)
        data = _read_at(descriptor, offset, max_bytes)
    finally:
        os.close(descriptor)
    first_end = data.find(b"\n") if offset else -1
    return data[first_end + 1 :] or data, status.st_size


def _read_at(descriptor: int, offset: int, count: int) -> bytes:
    """Read up to ``count`` bytes, however often the file system answers with less."""
    pieces: list[bytes] = []
    while count > 0:
        piece = os.pread(descriptor, count, offset)
        if not piece:
            break
        pieces.append(piece)
        offset += len(piece)
        count -= len(piece)
    return b"".join(pieces)


def _lines(path: str, data: bytes, size: int, max_lines: int) -> tuple[Line, ...]:
    raw = decode_lines(data)
    whole = len(data) >= size
    first = max(0, len(raw) - max_lines)
    return tuple(
        Line(path, index + 1 if whole else None, clean_line(text))
        for index, text in enumerate(raw[first:], start=first)
    )
