"""Remove jobmon's own records of one job; what its scheduler backend keeps of it stays."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.system.files import failure_reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jobmon_core.store.home import Home


def remove_records(home: Home, job_id: str) -> None:
    """Remove what agents measured of the job with this state id, then its files.

    The state file is the first of them: without it, the job is unknown. The caller owns the job: the record
    of its owner and its lock are removed last.

    Raises:
        StorageFailed: a file cannot be removed.
    """
    folder = home.telemetry(job_id)
    try:
        with suppress(FileNotFoundError):  # it had no agent
            shutil.rmtree(folder)  # an agent that still runs ends without it
    except OSError as error:
        raise StorageFailed(f"{folder} cannot be removed: {failure_reason(folder, error)}") from error
    for path in _files(home, job_id):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageFailed(f"{path} cannot be removed: {failure_reason(path, error)}") from error


def _files(home: Home, job_id: str) -> Iterator[Path]:
    yield home.state / f"{job_id}.json"
    yield home.log_file(job_id)
    yield home.log_file(job_id).with_suffix(".log.1")
    yield from home.logs.glob(f"{job_id}.*diagnostics.txt")
    yield home.cancel_file(job_id)
    yield home.replay_file(job_id)
    yield home.progress_file(job_id)
    yield home.run_file(job_id)
    yield home.note_file(job_id)
    # of owners that were superseded; an id has no characters that a pattern would interpret
    yield from home.monitors.glob(f"{job_id}.*.heir")
    yield home.owner_file(job_id)
    yield home.lock_file(job_id)
