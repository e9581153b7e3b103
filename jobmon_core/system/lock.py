"""The locks: those that a monitor holds for life, and those that are held for a question."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.system.files import open_private, remove_link

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NO_LOCKS_HERE = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # e.g. Lustre mounted without flock


def acquire(path: Path) -> int | None:
    """Take a lock for life without waiting; return its descriptor, None where another process holds it.

    It is the kernel's lock that filelock takes, too, so the two keep each other out; a monitor that runs has
    no room for a library. The descriptor survives an exec.

    Raises:
        StorageFailed: the lock's file can't be made or locked.
    """
    descriptor = opened(path)
    with ExitStack() as undo:
        undo.callback(os.close, descriptor)
        if not _got(descriptor, path, fcntl.LOCK_EX | fcntl.LOCK_NB):
            return None
        os.set_inheritable(descriptor, True)
        undo.pop_all()
    return descriptor


def has_locks(descriptor: int) -> bool:
    """Whether the file system has locks at all."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # takes nobody's, and is refused like any other
    except OSError as error:
        return error.errno not in _NO_LOCKS_HERE
    return True


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Hold a short lock among the monitors of a user; yield False where another holds it.

    This is the kernel's own lock and not filelock's: it is taken every few seconds by a process that
    must stay small. Between hosts it holds where the file system makes it hold, and nothing that must not
    happen twice rests on that. Where the file system has no locks, everybody gets a turn: more questions are
    asked than need be, and none is left unasked.

    Raises:
        StorageFailed: the lock's file can't be made or locked.
    """
    descriptor = opened(path)
    try:
        yield _got(descriptor, path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold a short lock, having waited for it.

    Raises:
        StorageFailed: the lock's file can't be made or locked.
    """
    descriptor = opened(path)
    try:
        _got(descriptor, path, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def opened(path: Path, what: str = "used") -> int:
    """Open a lock file, which is made where it is missing.

    Raises:
        StorageFailed: it can't be made, or is no file of ours.
    """
    remove_link(path)
    try:
        return open_private(path, os.O_RDWR)
    except OSError as error:
        raise StorageFailed(f"{path} can't be {what}: {error.strerror}") from error


def _got(descriptor: int, path: Path, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS_HERE:
            raise StorageFailed(f"{path} can't be locked: {error.strerror}") from error
    return True
