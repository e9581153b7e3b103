"""The processes of this machine as a `Scheduler`: /proc is its queue.

A process is identified by its PID and its start time, so that a reused PID is another process. The exit
status of a process goes to its parent, so no answer shows it.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.rows import Disabled, NotListed, RawAnswer, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.domain.tracking.policy import NO_HURRY_S
from jobmon_core.scheduler.process.group import ProcessGroup, group_rows
from jobmon_core.scheduler.status_row import StatusRow, from_answer, to_answer
from jobmon_core.system.files import write_atomically
from jobmon_core.system.json_codec import from_json, to_json
from jobmon_core.system.process import ProcessId

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from jobmon_core.domain.slurm.log_paths import LogPaths
    from jobmon_core.domain.slurm.rows import AccountingRow, QueueRow, RecordAnswer

_KEEP_S = 86_400.0  # how long a record is kept at least
_DAMAGED = (ValueError, RecursionError)  # raised by a record that is not valid JSON of a `ProcessGroup`


class ProcessScheduler:
    """Shows which of the watched processes still run."""

    name = "process"

    def __init__(self, folder: Path) -> None:
        """Set up without any I/O; ``folder`` is the existing directory of the records."""
        self._folder = folder

    def add(self, group: ProcessGroup) -> None:
        """Record the processes of a job, in place of those of an older job with the same id.

        Raises:
            StorageFailed: the record cannot be written.
        """
        self._remove_old_records()
        write_atomically(self._folder / f"{group.job_id}.json", json.dumps(to_json(group)).encode())

    def ask_queue(self, user: str) -> RawAnswer | Unreachable:  # noqa: ARG002 - all records are one user's
        """Return the status of all recorded processes, without those that exited; see `Scheduler`."""
        asked_s = time.time()
        try:
            return RawAnswer(to_answer(self._rows()), asked_s)
        except OSError as error:
            return Unreachable(f"the records of the watched processes cannot be read: {error}")

    def read_queue(self, text: str, job_ids: Collection[int]) -> tuple[QueueRow, ...]:
        """Parse the rows of these jobs; see `Scheduler`."""
        return tuple(row.as_queue_row() for row in from_answer(text, job_ids))

    def ask_accounting(self, job_ids: Sequence[int], within_s: float = NO_HURRY_S) -> Disabled:  # noqa: ARG002 - nothing keeps accounts of processes
        """Return `Disabled`."""
        return Disabled()

    def read_accounting(self, text: str, job_id: int) -> tuple[AccountingRow, ...]:  # noqa: ARG002 - see above
        """Return no rows."""
        return ()

    def ask_record(self, job_id: int) -> RecordAnswer:
        """Return the processes of one job, without those that exited; see `Scheduler`."""
        try:
            rows = _rows_of(self._folder / f"{job_id}.json", ProcessId.current())
        except (OSError, *_DAMAGED) as error:
            return Unreachable(f"the record of job {job_id} cannot be read: {error}")
        return tuple(row.as_record() for row in rows) or NotListed()

    def ask_log_templates(self, job_id: int) -> LogPaths | None:  # noqa: ARG002 - each process has its own
        """Return None: the logs of each process are known from the beginning."""
        return None

    def script_of(self, job_id: int) -> str:  # noqa: ARG002 - a process need not have one
        """Return an empty text."""
        return ""

    def cluster_name(self) -> str:
        """Return an empty text: a process belongs to no cluster."""
        return ""

    def _rows(self) -> Iterator[StatusRow]:
        """Yield the rows of all jobs; of one with a damaged record, a row of unknown state."""
        observer = ProcessId.current()
        for path in self._records():
            try:
                yield from _rows_of(path, observer)
            except _DAMAGED as error:
                job_id = int(path.stem)
                yield StatusRow(job_id, JobState.UNKNOWN, job_id, reason=f"{path} is damaged: {error}")

    def _records(self) -> Iterator[Path]:
        return (path for path in self._folder.glob("*.json") if path.stem.isdecimal())

    def _remove_old_records(self) -> None:
        """Remove the records that are over a day old and whose processes have all exited."""
        observer = ProcessId.current()
        for path in self._records():
            # another command has just removed it, or it is damaged and its processes may still run
            with suppress(OSError, *_DAMAGED):
                if time.time() - path.stat().st_mtime > _KEEP_S and not _rows_of(path, observer):
                    path.unlink(missing_ok=True)


def _rows_of(path: Path, observer: ProcessId) -> list[StatusRow]:
    """Return the rows of one record; raise OSError or one of `_DAMAGED` if it cannot be read."""
    try:
        group = from_json(ProcessGroup, json.loads(path.read_text(encoding="utf-8", errors="replace")))
    except FileNotFoundError:  # it was just removed
        return []
    return list(group_rows(group, observer))
