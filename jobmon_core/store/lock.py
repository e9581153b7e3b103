"""The two locks: one that a monitor holds for life, one that is held for a question."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import AlreadyWatched, StorageFailed
from jobmon_core.store.files import PRIVATE_FILE, opened_private, without_link

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NO_LOCKS_HERE = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # e.g. Lustre mounted without flock


def own_for_life(path: Path) -> int:
    """Take the lock that makes this process the monitor, and return its descriptor.

    The descriptor survives an exec: the lock belongs to the open file, and the kernel frees it when
    the process ends, however it ends.

    Raises:
        AlreadyWatched: another process holds it.
        StorageFailed: the file system refused it.
    """
    from filelock import FileLock, Timeout

    without_link(path)
    lock = FileLock(path, mode=PRIVATE_FILE, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise AlreadyWatched(f"{path.stem} is watched already") from error
    except (OSError, NotImplementedError) as error:
        raise StorageFailed(f"{path} can't be locked: {error}") from error
    descriptor = lock._context.lock_file_fd  # noqa: SLF001 - filelock can hand a lock on in no other way
    if descriptor is None:
        raise StorageFailed(f"{path} can't be locked: the file system gave no lock")
    os.set_inheritable(descriptor, True)
    _KEPT.append(lock)
    return descriptor


_KEPT: list[object] = []  # a lock object that is collected releases its lock


@contextmanager
def turn(path: Path) -> Iterator[bool]:
    """Hold a short lock among the monitors of this host; yield False where another holds it.

    This is the kernel's own lock and not filelock's: it is taken every few seconds by a process that
    must stay small, and the file is never shared between hosts. Where the file system has no locks,
    everybody gets a turn: more questions are asked than need be, and none is left unasked.

    Raises:
        StorageFailed: the lock's file can't be made or locked.
    """
    descriptor = _opened(path)
    try:
        yield _got(descriptor, path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a short lock, having waited for it.

    Raises:
        StorageFailed: the lock's file can't be made or locked.
    """
    descriptor = _opened(path)
    try:
        _got(descriptor, path, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    without_link(path)
    try:
        return opened_private(path, os.O_RDWR)
    except OSError as error:
        raise StorageFailed(f"{path} can't be used: {error.strerror}") from error


def _got(descriptor: int, path: Path, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS_HERE:
            raise StorageFailed(f"{path} can't be locked: {error.strerror}") from error
    return True
