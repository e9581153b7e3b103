"""The record of what a job runs, in a file of its own that is written once."""

from __future__ import annotations

from dataclasses import dataclass

from jobmon_core.domain.provenance.model import RunRecord
from jobmon_core.store.json_file import JsonFile

_MAX_BYTES = 16 * 2**20  # more than the script (1 MB, escaped) and all lists with their limits


@dataclass(frozen=True, slots=True)
class RunRecordFile(JsonFile[RunRecord]):
    """The record of one job, see `Home.run_file`. A missing one reads as a record that was never taken."""

    kind: type[RunRecord] = RunRecord
    max_bytes: int = _MAX_BYTES
    durable: bool = False

    def taken(self) -> RunRecord | None:
        """Return the record; None if none was taken, or its file cannot be read."""
        record = self.read()
        return record if record.recorded_s else None
