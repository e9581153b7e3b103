"""The processes of this machine as a `Scheduler`: /proc is its queue.

One or more are watched as one job, by PID and start time, since PIDs are reused. An exit status goes to the
parent of a process, so no answer shows it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.numbered_files import read_record, write_record
from jobmon_core.scheduler.records import StatusRow, WithoutAccounting, to_answer
from jobmon_core.system.process import ProcessId, ProcessStatus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jobmon_core.domain.slurm.rows import RecordAnswer

_KEEP_S = 86_400.0


@dataclass(frozen=True, slots=True)
class ProcessScheduler(WithoutAccounting):
    """Shows which of the watched processes still run."""

    name = "process"

    folder: Path

    def add(self, group: ProcessGroup) -> None:
        """Record the processes of a job."""
        self._remove_old_records()
        write_record(self.folder / f"{group.job_id}.json", group)

    def groups(self) -> Iterator[ProcessGroup]:
        """All records that are not damaged."""
        for path in self._records():
            with suppress(OSError, StateUnreadable):
                yield read_record(ProcessGroup, path)

    def running_pids(self, job_id: int) -> list[int]:
        """Those of a job's processes that run on this host."""
        observer = ProcessId.current()
        processes = (each for group in self.groups() if group.job_id == job_id for each in group.processes)
        return [each.id.pid for each in processes if each.id.status(observer) is ProcessStatus.RUNNING]

    def ask_queue(self, user: str) -> str | Unreachable:  # noqa: ARG002 - all records are one user's
        """See `Scheduler`."""
        try:
            return to_answer(self._rows())
        except OSError as error:
            return Unreachable(f"the records of the watched processes cannot be read: {error}")

    def ask_record(self, job_id: int) -> RecordAnswer:
        """See `Scheduler`."""
        try:
            rows = _rows_of(self.folder / f"{job_id}.json", ProcessId.current())
        except (OSError, StateUnreadable) as error:
            return Unreachable(f"the record of job {job_id} cannot be read: {error}")
        return tuple(row.as_record() for row in rows) or NotListed()

    def _rows(self) -> Iterator[StatusRow]:
        observer = ProcessId.current()
        for path in self._records():
            try:
                yield from _rows_of(path, observer)
            except StateUnreadable as error:
                job_id = int(path.stem)
                yield StatusRow(job_id, JobState.UNKNOWN, job_id, reason=str(error))

    def _records(self) -> Iterator[Path]:
        return (path for path in self.folder.glob("*.json") if path.stem.isdecimal())

    def _remove_old_records(self) -> None:
        observer = ProcessId.current()
        for path in self._records():
            with suppress(OSError, StateUnreadable):
                if time.time() - path.stat().st_mtime > _KEEP_S and not _rows_of(path, observer):
                    path.unlink(missing_ok=True)


def _rows_of(path: Path, observer: ProcessId) -> list[StatusRow]:
    try:
        return list(group_rows(read_record(ProcessGroup, path), observer))
    except FileNotFoundError:
        return []


@dataclass(frozen=True, slots=True)
class WatchedProcess:
    """A process that ran when jobmon began to watch it."""

    id: ProcessId
    argv: tuple[str, ...]
    started_s: int
    user: str
    uid: int
    workdir: str = ""
    stdout: str = ""  # a regular file; else empty
    stderr: str = ""

    @property
    def command(self) -> str:
        """The command line."""
        return " ".join(self.argv)


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """The workers of one job, or the tasks of an array, with the indices 0, 1, ..."""

    name: str
    processes: tuple[WatchedProcess, ...]
    is_one_job: bool = False  # it runs until all of them have exited

    @property
    def job_id(self) -> int:
        """The PID of the first process."""
        return self.processes[0].id.pid

    @property
    def keys(self) -> tuple[str, ...]:
        """The task key of each process."""
        count = len(self.processes)
        if count > 1 and not self.is_one_job:
            return tuple(str(index) for index in range(count))
        return ("",)


def group_rows(group: ProcessGroup, observer: ProcessId) -> Iterator[StatusRow]:
    """A row for each task whose processes have not all exited."""
    if not group.is_one_job:
        for key, process in zip(group.keys, group.processes, strict=True):
            if status := _status(process, observer):
                yield _row(group, process, key, status)
        return
    found = [status for process in group.processes if (status := _status(process, observer))]
    if found:
        # while one runs, the job does; they are on one host, so only a restart could differ
        yield _row(group, group.processes[0], "", max(found, key=lambda each: each[0] is JobState.RUNNING))


def _status(process: WatchedProcess, observer: ProcessId) -> tuple[JobState, str] | None:
    match process.id.status(observer):
        case ProcessStatus.EXITED:
            return None
        case ProcessStatus.REBOOTED:
            return JobState.NODE_FAIL, "the machine was restarted"
        case ProcessStatus.REMOTE:
            return JobState.UNKNOWN, f"only {process.id.host} can see whether it still runs"
        case ProcessStatus.RUNNING:
            return JobState.RUNNING, ""


def _row(group: ProcessGroup, process: WatchedProcess, key: str, status: tuple[JobState, str]) -> StatusRow:
    members = group.processes if group.is_one_job else (process,)
    started_s = min(each.started_s for each in members)
    return StatusRow(
        job_id=group.job_id,
        state=status[0],
        raw_job_id=process.id.pid,
        task=int(key) if key else None,
        reason=status[1],
        submit_s=started_s,
        start_s=started_s,
        nodes=process.id.host.split(".", 1)[0],
        name=group.name,
        user=process.user,
        uid=process.uid,
        workdir=process.workdir or "/",
        stdout=process.stdout,
        stderr=process.stderr,
        command=process.command,
    )
