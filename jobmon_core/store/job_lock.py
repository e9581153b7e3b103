"""The lock of a job: who holds it is the job's monitor, and is named its owner beside it."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import AlreadyWatched, StorageFailed
from jobmon_core.store.owner import Owner, OwnerRecord
from jobmon_core.system.files import PRIVATE_FILE
from jobmon_core.system.lock import acquire, has_locks, opened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def acquire_ownership(path: Path) -> int:
    """Take the lock that makes this process the monitor, name it the owner, and return the lock's descriptor.

    By filelock, for a process that may be large and slow to start, such as a sentinel; `acquire_job` does the
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

    descriptor = opened(path, "locked")
    if not has_locks(descriptor):  # filelock would leave a file that outlives its owner on another host
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


def acquire_job(path: Path) -> int | None:
    """Take the lock of a job and name this process its owner; return its descriptor, None where it has one.

    It is what `acquire_ownership` takes, without the library: 15 ms of the user's time, 3 MB of a monitor.

    Raises:
        StorageFailed: the file system refused it.
    """
    descriptor = acquire(path)
    if descriptor is None:
        return None
    with suppress(AlreadyWatched), ExitStack() as undo:
        undo.callback(os.close, descriptor)
        OwnerRecord(path.with_suffix(".owner")).claim(Owner.this_process())
        undo.pop_all()
        return descriptor
    return None


def acquire_jobs(folder: Path, job_ids: Sequence[str]) -> dict[str, int]:
    """Take the locks of those jobs that are free; job id -> descriptor. What others hold is missing.

    Raises:
        StorageFailed: as `acquire_job`.
    """
    locks = {job_id: acquire_job(folder / f"{job_id}.lock") for job_id in job_ids}
    return {job_id: lock for job_id, lock in locks.items() if lock is not None}
