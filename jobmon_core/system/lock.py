"""File locks: a monitor's for life, short ones among monitors, and those that commands wait for."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import CommandBusy, StorageFailed
from jobmon_core.system.files import PRIVATE_FILE, open_private

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

_LOCKS_UNSUPPORTED = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # e.g. Lustre mounted without flock


def acquire(path: Path) -> int | None:
    """Take a lock for life without waiting; return its descriptor, None if another process holds it.

    This is flock(2) without filelock, which would enlarge every monitor. The descriptor survives an exec.

    Raises:
        StorageFailed: the lock file cannot be opened or locked.
    """
    descriptor = _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if descriptor is not None:
        os.set_inheritable(descriptor, True)
    return descriptor


def try_lock(path: Path) -> AbstractContextManager[bool]:
    """Hold a short lock among the monitors of a user; yield False if another process holds it.

    Without locks, or between hosts if they do not reach that far, every monitor acquires it: no action that
    must not be repeated depends on it.

    Raises:
        StorageFailed: the lock file cannot be opened or locked.
    """
    return _hold(path, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock(path: Path) -> AbstractContextManager[bool]:
    """Wait for a short lock among monitors and hold it.

    Raises:
        StorageFailed: the lock file cannot be opened or locked.
    """
    return _hold(path, fcntl.LOCK_EX)


@contextmanager
def _hold(path: Path, operation: int) -> Iterator[bool]:
    descriptor = _locked(path, operation)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def command_lock(path: Path, command: str, timeout_s: float) -> Iterator[None]:
    """Hold a lock among the commands of a user, e.g. ``jobmon init``, having waited ``timeout_s`` at most.

    On a file system without locks all commands proceed.

    Raises:
        CommandBusy: the same command still runs after that time.
        StorageFailed: the lock file cannot be opened or locked.
    """
    from filelock import FileLock, Timeout

    if not _has_locks(path):  # filelock would use a file that outlives a killed command
        yield
        return
    file_lock = FileLock(path, timeout_s, PRIVATE_FILE)
    try:
        file_lock.acquire()
    except Timeout as error:
        raise CommandBusy(
            f"another `{command}` has held {path} for over {timeout_s:g} s: wait for it or end it"
        ) from error
    except (OSError, NotImplementedError) as error:
        raise StorageFailed(f"{path} cannot be locked: {error}") from error
    try:
        yield
    finally:
        file_lock.release()


def _open(path: Path) -> int:
    try:
        return open_private(path, os.O_RDWR)
    except OSError as error:
        raise StorageFailed(f"{path} cannot be used: {error.strerror}") from error


def _has_locks(path: Path) -> bool:
    """Return whether a file system supports locks; fail if something blocks the lock file."""
    with open(_open(path), "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_UN)  # changes nothing, but fails like any other request
        except OSError as error:
            return error.errno not in _LOCKS_UNSUPPORTED
    return True


def _locked(path: Path, operation: int) -> int | None:
    """Return the descriptor of a locked file, also where the file system has no locks; None if it is held."""
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
