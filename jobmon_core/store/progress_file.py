"""The progress of a job, in a file that its monitor replaces when a look at the logs found something new."""

from __future__ import annotations

from dataclasses import dataclass

from jobmon_core.domain.progress.model import JobProgress
from jobmon_core.store.json_file import JsonFile

MAX_BYTES = 16 * 2**20  # far more than the bounded histories of the tasks of a large array


@dataclass(frozen=True, slots=True)
class ProgressFile(JsonFile[JobProgress]):
    """The progress of one job, see `Home.progress_file`. After a power cut, the logs are read again."""

    kind: type[JobProgress] = JobProgress
    max_bytes: int = MAX_BYTES
    durable: bool = False
