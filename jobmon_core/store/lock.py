"""The locks: those that a monitor holds for life, and those that are held for a question."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import AlreadyWatched, StorageFailed
from jobmon_core.store.files import PRIVATE_FILE, opened_private, without_link
from jobmon_core.store.owner import Owner, OwnerRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_NO_LOCKS_HERE = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)  # e.g. Lustre mounted without flock


def own_for_life(path: Path) -> int:
    """Take the lock that makes this process the monitor, name it the owner, and return the lock's descriptor.

    By filelock, for a process that may be large and slow to start, such as a sentinel; `seize_job` does the
    same by the kernel's call alone. The descriptor survives an exec: the lock belongs to the open file, and
    the kernel frees it when the process ends, however it ends. The owner is named beside the lock, and
    decides where the lock does not reach: between the hosts of some file systems, and nowhere where a file
    system has no locks.

    Raises:
        AlreadyWatched: another process holds it.
        StorageFailed: the file system refused it.
    """
    with ExitStack() as undo:
        descriptor = _lock_for_life(path, undo)
        OwnerRecord(path.with_suffix(".owner")).claim(Owner.this_process())
        os.set_inheritable(descriptor, True)
        _KEPT.append(undo.pop_all())
        return descriptor


_KEPT: list[object] = []  # a lock object that is collected releases its lock


def _lock_for_life(path: Path, undo: ExitStack) -> int:
    from filelock import FileLock, Timeout

    descriptor = _opened(path, "locked")
    if not _has_locks(descriptor):  # filelock would leave a file that outlives its owner on another host
        undo.callback(os.close, descriptor)
        return descriptor
    os.close(descriptor)
    lock = FileLock(path, mode=PRIVATE_FILE, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise AlreadyWatched(f"{path.stem} is watched already") from error
    except (OSError, NotImplementedError) as error:
        raise StorageFailed(f"{path} can't be locked: {error}") from error
    undo.callback(lock.release, force=True)
    locked = lock._context.lock_file_fd  # noqa: SLF001 - filelock can hand a lock on in no other way
    if locked is None:
        raise StorageFailed(f"{path} can't be locked: the file system gave no lock")
    return locked


def _has_locks(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # takes nobody's, and is refused like any other
    except OSError as error:
        return error.errno not in _NO_LOCKS_HERE
    return True


def seize(path: Path) -> int | None:
    """Take a lock for life without waiting; return its descriptor, None where another process holds it.

    It is the kernel's lock that filelock takes, too, so the two keep each other out; a monitor that runs has
    no room for a library. Like that of `own_for_life`, the descriptor survives an exec.

    Raises:
        StorageFailed: the lock's file can't be made or locked.
    """
    descriptor = _opened(path)
    with ExitStack() as undo:
        undo.callback(os.close, descriptor)
        if not _got(descriptor, path, fcntl.LOCK_EX | fcntl.LOCK_NB):
            return None
        os.set_inheritable(descriptor, True)
        undo.pop_all()
    return descriptor


def seize_job(path: Path) -> int | None:
    """Take the lock of a job and name this process its owner; return its descriptor, None where it has one.

    It is what `own_for_life` takes, without the library: 15 ms of the user's time, 3 MB of a monitor.

    Raises:
        StorageFailed: the file system refused it.
    """
    descriptor = seize(path)
    if descriptor is None:
        return None
    with suppress(AlreadyWatched), ExitStack() as undo:
        undo.callback(os.close, descriptor)
        OwnerRecord(path.with_suffix(".owner")).claim(Owner.this_process())
        undo.pop_all()
        return descriptor
    return None


def seize_jobs(folder: Path, job_ids: Sequence[str]) -> dict[str, int]:
    """Take the locks of those jobs that are free; job id -> descriptor. What others hold is missing.

    Raises:
        StorageFailed: as `seize_job`.
    """
    locks = {job_id: seize_job(folder / f"{job_id}.lock") for job_id in job_ids}
    return {job_id: lock for job_id, lock in locks.items() if lock is not None}


@contextmanager
def turn(path: Path) -> Iterator[bool]:
    """Hold a short lock among the monitors of a user; yield False where another holds it.

    This is the kernel's own lock and not filelock's: it is taken every few seconds by a process that
    must stay small. Between hosts it holds where the file system makes it hold, and nothing that must not
    happen twice rests on that. Where the file system has no locks, everybody gets a turn: more questions are
    asked than need be, and none is left unasked.

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


def _opened(path: Path, what: str = "used") -> int:
    without_link(path)
    try:
        return opened_private(path, os.O_RDWR)
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
