"""The lock of a job: the process that holds it watches the job, and is named in the owner record."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import AlreadyWatched
from jobmon_core.store.owner import Owner, OwnerRecord
from jobmon_core.system.lock import acquire

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def acquire_job(path: Path) -> int:
    """Lock a job, make this process its owner, and return the descriptor of the lock.

    The lock survives an exec, and the kernel releases it when the process ends for whatever reason. The owner
    record decides where the lock has no effect: between hosts on some file systems, and everywhere on a file
    system without locks.

    Args:
        path: the lock file of the job; the owner record lies beside it.

    Raises:
        AlreadyWatched: another process owns the job.
        StorageFailed: the lock or the owner record cannot be written.
    """
    descriptor = acquire(path)
    if descriptor is None:
        raise AlreadyWatched(f"{path.stem} is already watched")
    with ExitStack() as on_error:
        on_error.callback(os.close, descriptor)
        OwnerRecord(path.with_suffix(".owner")).claim(Owner.this_process())
        on_error.pop_all()
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
