"""Files of one job beside its state: its progress, which looks at its logs replace, and what it runs."""

from __future__ import annotations

from dataclasses import dataclass

from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.many.provenance.model import RunRecord
from jobmon_core.store.json_file import JsonFile

# far more than the bounded histories of a large array, or the script (1 MB, escaped) and all lists
MAX_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True)
class ProgressFile(JsonFile[JobProgress]):
    """The progress of one job, see `Home.progress_file`. After a power cut, the logs are read again."""

    kind: type[JobProgress] = JobProgress
    max_bytes: int = MAX_BYTES
    durable: bool = False


@dataclass(frozen=True, slots=True)
class RunRecordFile(JsonFile[RunRecord]):
    """The record of one job, see `Home.run_file`. A missing one reads as a record that was never taken."""

    kind: type[RunRecord] = RunRecord
    max_bytes: int = MAX_BYTES
    durable: bool = False

    def taken(self) -> RunRecord | None:
        """Return the record; None if none was taken, or its file cannot be read."""
        record = self.read()
        return record if record.recorded_s else None
