"""Open a log for reading, find its rotated copy, and describe why a path cannot be read.

Only regular files are opened: opening a pipe would wake its writer, and a device may do anything. A link that
someone else made is not followed: it may replace a log by a file that only the user may read.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROTATED_SUFFIXES = (".1", ".1.gz", ".gz", ".0")  # of logrotate and similar tools
_PROC = "/proc/"
_ROOT = 0
_MAX_LINKS = 40  # as the kernel follows
_PIECE_BYTES = 2**20  # Python takes memory for as much as it is asked for
_MAX_OFFSET = 2**63 - 1  # of a file, by the type off_t
_A_FOLDER, _NO_FOLDER = "is a folder", "does not exist: a part of its path is not a folder"
_STORES_NOTHING = "which stores nothing"
IN_THE_WAY = (_A_FOLDER, _NO_FOLDER, _STORES_NOTHING)  # why no file can be created at a path
_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: _NO_FOLDER,
    errno.EACCES: "cannot be read: permission denied",
    errno.EPERM: "cannot be read: permission denied",
    errno.ESTALE: "was deleted or replaced on its file server while it was read",
    errno.ELOOP: "is a symbolic link that leads back to itself",
    errno.EIO: "cannot be read: the storage reports an error",
    errno.ENAMETOOLONG: "does not exist: its name is too long",
}


class Unreadable(Exception):
    """A path that cannot be read. The text completes a sentence that starts with the path."""


@dataclass(frozen=True, slots=True)
class RegularFile:
    """An open file, read by position, so that readers do not affect each other."""

    descriptor: int
    size: int  # bytes, when it was opened

    def read_at(self, offset: int, count: int) -> bytes:
        """Return ``count`` bytes, fewer only at the end; none at an offset that no file can have.

        Raises:
            OSError: the storage or its server failed.
        """
        if offset + count > _MAX_OFFSET:
            return b""
        pieces: list[bytes] = []
        while count > 0:
            piece = os.pread(self.descriptor, min(count, _PIECE_BYTES), offset)
            if not piece:
                break
            pieces.append(piece)
            offset += len(piece)
            count -= len(piece)
        return b"".join(pieces)


@contextmanager
def regular_file(path: str) -> Iterator[RegularFile]:
    """Open ``path`` for reading.

    Raises:
        Unreadable: it is not a regular file or may not be read, or the ``with`` block raised an OSError.
    """
    try:
        descriptor = _open(path)
        try:
            yield RegularFile(descriptor, os.fstat(descriptor).st_size)
        finally:
            os.close(descriptor)
    except OSError as error:
        known = _REASONS.get(error.errno or 0)
        raise Unreadable(known or f"cannot be read: {error.strerror or error}") from error


def read_regular(path: str, max_bytes: int) -> bytes | None:
    """Return the first bytes of a regular file that can be read."""
    try:
        with regular_file(path) as file:
            return file.read_at(0, max_bytes)
    except Unreadable:
        return None


def _open(path: str) -> int:
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - Path("") would be the working folder
    except ValueError as error:  # a null byte, or a character that no file name can contain
        raise Unreadable(f"cannot be read: {error}") from error
    if not stat.S_ISREG(mode):
        raise Unreadable(_describe_type(mode, path))
    # non-blocking, because the path may have become a pipe in the meantime; or a link, which is not followed
    place, flags = _without_links(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    descriptor = os.open(place, flags if place.startswith(_PROC) else flags | os.O_NOFOLLOW)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Unreadable("cannot be read: it was replaced by another type of file")
    return descriptor


def _without_links(path: str) -> str:
    """Return the path to which the links of ``path`` lead.

    Raises:
        Unreadable: it leads through a link of someone else.
        OSError: a part of it does not exist.
    """
    at, waiting, links = "/" if path.startswith("/") else "", path.split("/"), 0
    while waiting:
        name = waiting.pop(0)
        place = os.path.join(at, name)  # noqa: PTH118 - texts
        if name in ("", ".") or not stat.S_ISLNK((link := os.lstat(place)).st_mode):
            at = at if name in ("", ".") else place
            continue
        if _is_foreign(link, os.stat(at or "."), is_last=not waiting):  # noqa: PTH116 - as above
            raise Unreadable(f"is not read: {place} is a symbolic link that another user made")
        if place.startswith(_PROC):  # of an open file, e.g. /dev/stdin: its text need not be a path
            return os.path.join(place, *waiting)  # noqa: PTH118 - as above
        target, links = os.readlink(place), links + 1  # noqa: PTH115 - as above
        if links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        at = "/" if target.startswith("/") else at
        waiting = [*target.split("/"), *waiting]
    return at


def _is_foreign(link: os.stat_result, folder: os.stat_result, *, is_last: bool) -> bool:
    """Whether neither the user nor root nor the owner of its folder made a link.

    On the way to a file, e.g. at ``/scratch``, that counts only where others may write.
    """
    is_of_trusted = link.st_uid in (os.geteuid(), folder.st_uid, _ROOT)
    return not is_of_trusted and (is_last or bool(folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH)))


def _describe_type(mode: int, path: str) -> str:
    if os.path.normpath(path) == os.devnull:
        return "stores nothing: the output was discarded"
    if stat.S_ISDIR(mode):
        return _A_FOLDER
    kind = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}.get(stat.S_IFMT(mode), "device")
    return f"is a {kind}, {_STORES_NOTHING}"


def find_rotated(path: str) -> str:
    """Return ``path``; if it does not exist, its newest non-empty rotated copy, if any. Never raises.

    A copy next to an existing empty log may belong to an earlier job.
    """
    if not path or os.path.exists(path):  # noqa: PTH110 - Path.exists raises for a folder without permission
        return path
    candidates = [path + suffix for suffix in _ROTATED_SUFFIXES]
    copies = [(modified, copy) for copy in candidates if (modified := _modified_ns(copy))]
    return max(copies)[1] if copies else path


def _modified_ns(path: str) -> int:
    try:
        status = os.stat(path)  # noqa: PTH116 - the user's path, unchanged
    except (OSError, ValueError):
        return 0
    return status.st_mtime_ns if stat.S_ISREG(status.st_mode) and status.st_size else 0
