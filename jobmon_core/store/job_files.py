"""Files of one job beside its state: its progress, which looks at its logs replace, and what it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.many.provenance.model import RunRecord
from jobmon_core.store.json_file import JsonFile

if TYPE_CHECKING:
    from pathlib import Path

# far more than the bounded histories of a large array, or the script (1 MB, escaped) and all lists
MAX_BYTES = 16 * 2**20


def progress_file(path: Path) -> JsonFile[JobProgress]:
    """Return the progress of a job, see `Home.progress_file`. After a power cut, the logs are read again."""
    return JsonFile(path, JobProgress, MAX_BYTES, durable=False)


@dataclass(frozen=True, slots=True)
class RunRecordFile(JsonFile[RunRecord]):
    """What a job runs, see `Home.run_file`; a missing file reads as a record that was never taken."""

    kind: type[RunRecord] = RunRecord
    max_bytes: int = MAX_BYTES
    durable: bool = False

    def taken(self) -> RunRecord | None:
        """Return the record; None if none was taken, or its file cannot be read."""
        record = self.read()
        return record if record.recorded_s else None
