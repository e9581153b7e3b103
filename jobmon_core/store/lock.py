"""The two locks: one that a monitor holds for life, one that is held for a question."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jobmon_core.domain.errors import AlreadyWatched
from jobmon_core.store.files import PRIVATE_FILE


def own_for_life(path: Path) -> int:
    """Take the lock that makes this process the monitor, and return its descriptor.

    The descriptor survives an exec: the lock belongs to the open file, and the kernel frees it when
    the process ends, however it ends.

    Raises:
        AlreadyWatched: another process holds it.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, mode=PRIVATE_FILE, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise AlreadyWatched(f"{path.stem} is watched already") from error
    descriptor = lock._context.lock_file_fd  # noqa: SLF001 - filelock can hand a lock on in no other way
    if descriptor is None:
        raise AlreadyWatched(f"{path.stem}: the file system gave no lock")
    os.set_inheritable(descriptor, True)
    _KEPT.append(lock)
    return descriptor


_KEPT: list[object] = []  # a lock object that is collected releases its lock


@contextmanager
def turn(path: Path) -> Iterator[bool]:
    """Hold a short lock among the monitors of this host; yield False where another holds it.

    This is the kernel's own lock and not filelock's: it is taken every few seconds by a process that
    must stay small, and the file is never shared between hosts.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
