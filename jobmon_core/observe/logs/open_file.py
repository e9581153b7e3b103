"""Open a regular file to read it, and say in words why a path is none or can't be read.

Nothing else is opened: opening a pipe would wake its writer, and a device may do anything.
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


class Unreadable(Exception):
    """A path that can't be read; the text is the end of a sentence that begins with the path."""


@dataclass(frozen=True, slots=True)
class RegularFile:
    """An open file; what is read is asked for by position, so that readers don't disturb one another."""

    descriptor: int
    size: int  # bytes, when it was opened

    def read_at(self, offset: int, count: int) -> bytes:
        """Read up to ``count`` bytes, however often the file system answers with less.

        Raises:
            OSError: the storage or its server failed.
        """
        pieces: list[bytes] = []
        while count > 0:
            piece = os.pread(self.descriptor, count, offset)
            if not piece:
                break
            pieces.append(piece)
            offset += len(piece)
            count -= len(piece)
        return b"".join(pieces)


@contextmanager
def regular_file(path: str) -> Iterator[RegularFile]:
    """Have ``path`` open for reading.

    Raises:
        Unreadable: it is no regular file, may not be read, or failed while it was read.
    """
    try:
        descriptor = _opened(path)
        try:
            yield RegularFile(descriptor, os.fstat(descriptor).st_size)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise Unreadable(_reason(error)) from error


def _opened(path: str) -> int:
    try:
        reason = _why_no_log(os.stat(path).st_mode, path)  # noqa: PTH116 - Path("") would be the working folder
    except ValueError as error:  # a zero byte in the path, or a character that no file name can hold
        raise Unreadable(f"could not be read: {error}") from error
    if reason:
        raise Unreadable(reason)
    # non-blocking, because the path may have become a pipe since it was looked at
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Unreadable("could not be read: it was replaced by something else meanwhile")
    return descriptor


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


def _reason(error: OSError) -> str:
    known = _REASONS.get(error.errno or 0)
    return known or f"could not be read: {error.strerror or error}"
