"""Remove jobmon's own files about one job; what its scheduler backend keeps of it stays."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.store.owner import CLAIM_SUFFIX
from jobmon_core.system.files import remove_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jobmon_core.store.home import Home


def remove_job_files(home: Home, state_id: str) -> None:
    """Remove what agents measured of the job with this state id, then its files.

    The state file is the first of the files: after a removal that was cut short, the job is unknown. The
    owner record and the lock are the last, because the caller holds them.
    """
    folder = home.telemetry(state_id)
    try:
        with suppress(FileNotFoundError):  # it had no agent
            shutil.rmtree(folder)  # an agent that still runs exits when it is gone
    except OSError as error:
        raise StorageFailed(f"{folder} cannot be removed: {error.strerror}") from error
    for path in _files(home, state_id):
        remove_file(path)


def _files(home: Home, state_id: str) -> Iterator[Path]:
    yield home.state / f"{state_id}.json"
    yield home.log_file(state_id)
    yield home.log_file(state_id).with_suffix(".log.1")
    yield from home.logs.glob(f"{state_id}.*diagnostics.txt")
    yield home.cancel_file(state_id)
    yield home.replay_file(state_id)
    yield home.progress_file(state_id)
    yield home.run_file(state_id)
    yield home.note_file(state_id)
    # left by processes that were killed while they took the job over; an id has no special character of globs
    yield from home.monitors.glob(f"{state_id}.*{CLAIM_SUFFIX}")
    yield home.owner_file(state_id)
    yield home.lock_file(state_id)
