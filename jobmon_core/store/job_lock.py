"""The lock of a job, whose holder watches the job, and the request that the holder stops."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import AlreadyWatched
from jobmon_core.store.owner import Owner, OwnerRecord
from jobmon_core.system.files import blocking_file, touch_private
from jobmon_core.system.lock import acquire

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def acquire_job(path: Path) -> int:
    """Lock a job, make this process its owner, and return the descriptor of the lock.

    The lock survives an exec, and the kernel releases it when the process ends for whatever reason. The owner
    record beside the lock file decides where the lock has no effect: between hosts on some file systems, and
    everywhere on a file system without locks.

    Raises:
        AlreadyWatched: another process owns the job.
        StorageFailed: the lock or the owner record cannot be written.
    """
    descriptor = acquire(path)
    if descriptor is None:
        raise AlreadyWatched(f"{path.stem} is already watched")
    try:
        OwnerRecord(path.with_suffix(".owner")).claim(Owner.this_process())
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def acquire_jobs(folder: Path, job_ids: Iterable[str]) -> dict[str, int]:
    """Lock those of these jobs that have no owner; return job id -> descriptor of the lock.

    Raises:
        StorageFailed: a lock or an owner record cannot be written.
    """
    locks = {}
    for job_id in job_ids:
        with suppress(AlreadyWatched):
            locks[job_id] = acquire_job(folder / f"{job_id}.lock")
    return locks


def blocked_because(folder: Path, job_id: str) -> str:
    """Return why a job cannot be locked or owned: the path in the way, and what to do; empty if it can be."""
    for path in (folder / f"{job_id}.lock", folder / f"{job_id}.owner"):
        if why := blocking_file(path):
            return f"{path} is in the way: {why}"
    return ""


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """The request to stop watching a job, as an empty file that a monitor on any host sees."""

    path: Path

    def create(self) -> None:
        """Make the request.

        Raises:
            StorageFailed: the file cannot be written.
        """
        touch_private(self.path)

    def is_pending(self) -> bool:
        """Whether the request was made; a foreign file or folder in its place is not a request."""
        return os.path.lexists(self.path) and not blocking_file(self.path)

    def clear(self) -> None:
        """Remove the request, if there is one."""
        with suppress(OSError):  # e.g. a folder is in its place
            self.path.unlink(missing_ok=True)
