"""File locks: long ones of monitors, short ones between monitors, and those between commands."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import CommandBusy, StorageFailed
from jobmon_core.system.files import PRIVATE_FILE, open_private, storage_errors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

_LOCKS_UNSUPPORTED = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # e.g. Lustre mounted without flock


def acquire(path: Path) -> int | None:
    """Take a lock without waiting; return its descriptor, or None if another process holds the lock.

    The lock lasts until every copy of the descriptor is closed; an exec does not close it. On a file system
    without locks every caller gets a descriptor. This calls flock(2) because filelock would need more memory.
    """
    descriptor = _open_locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if descriptor is not None:
        os.set_inheritable(descriptor, True)
    return descriptor


def try_lock(path: Path) -> AbstractContextManager[bool]:
    """Try to hold a lock between a user's monitors for the ``with`` block; yield whether it was free.

    Where the file system has no locks, or none between hosts, several monitors may hold it at once. Use it
    only for actions that are harmless if repeated.
    """
    return _hold(path, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock(path: Path) -> AbstractContextManager[bool]:
    """Wait for a lock between a user's monitors, and hold it for the ``with`` block; yield True."""
    return _hold(path, fcntl.LOCK_EX)


@contextmanager
def _hold(path: Path, operation: int) -> Iterator[bool]:
    descriptor = _open_locked(path, operation)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def command_lock(path: Path, command: str, timeout_s: float, *others: str) -> Iterator[None]:
    """Hold a lock between a user's commands for the ``with`` block; wait for it up to ``timeout_s`` seconds.

    ``command`` and ``others`` are the commands that take this lock, as CommandBusy names them. On a file
    system without locks all commands proceed.
    """
    from filelock import FileLock, Timeout

    if not has_locks(path):  # filelock would create a file as the lock, which outlives a killed command
        yield
        return
    file_lock = FileLock(path, timeout_s, PRIVATE_FILE)
    try:
        file_lock.acquire()
    except Timeout as error:
        names = [f"`{each}`" for each in (command, *others)]
        holder = " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        raise CommandBusy(
            f"another {holder} has held {path} for over {timeout_s:g} s: wait for it or end it"
        ) from error
    except (OSError, NotImplementedError) as error:
        raise StorageFailed(f"{path} cannot be locked: {error}") from error
    try:
        yield
    finally:
        file_lock.release()


def _open(path: Path) -> int:
    with storage_errors(path, "used"):
        return open_private(path, os.O_RDWR)


def has_locks(path: Path) -> bool:
    """Whether the file system supports locks."""
    with open(_open(path), "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_UN)  # changes nothing, but fails like any other request
        except OSError as error:
            return error.errno not in _LOCKS_UNSUPPORTED
    return True


def _open_locked(path: Path, operation: int) -> int | None:
    """Return a descriptor of the locked file, not locked if that is unsupported; None if it is busy."""
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, operation)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as error:
        if error.errno not in _LOCKS_UNSUPPORTED:
            os.close(descriptor)
            raise StorageFailed(f"{path} cannot be locked: {error.strerror}") from error
    return descriptor
