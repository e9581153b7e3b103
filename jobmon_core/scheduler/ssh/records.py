"""What jobmon keeps of the jobs on hosts, in its own folder on this machine.

FOLDER/7/job.json       the record of job 7
FOLDER/7/starter.json   the process here that starts its command there
FOLDER/7/copy.json      how far its log was copied
FOLDER/7/files.json     the files in the folder of its outputs
FOLDER/7/train.log      the copy, and train.log.1, the part before it
FOLDER/HOST.rows        the latest answer about all jobs of a host
FOLDER/HOST.usage.json  what is used of the host
FOLDER/HOST.boots.json  which machines answered under its name
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from posixpath import basename
from typing import TYPE_CHECKING
from urllib.parse import quote

from jobmon_core.domain.artifacts.model import Listing
from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.domain.node.hosts.model import HostJob
from jobmon_core.domain.node.telemetry.model import Sample
from jobmon_core.scheduler.numbered_files import read_record, reserve_folder, write_record
from jobmon_core.system.files import write_atomically
from jobmon_core.system.process import ProcessId, ProcessStatus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_OUTPUT = "output.log"
_OWN = ("job.json", "copy.json", "starter.json", "files.json")


@dataclass(frozen=True, slots=True)
class CopyState:
    """Byte 0 of the copy is byte ``base`` of the log with this inode."""

    inode: str = ""
    base: int = 0


@dataclass(frozen=True, slots=True)
class HostJobFolder:
    """The files of one job. Readers raise OSError and StateUnreadable, writers StorageFailed."""

    path: Path

    @property
    def number(self) -> int:
        """The job's number."""
        return int(self.path.name)

    def load(self) -> HostJob:
        """The record of the job."""
        return read_record(HostJob, self.path / "job.json")

    def save(self, job: HostJob) -> None:
        """Replace the record of the job."""
        write_record(self.path / "job.json", job)

    def save_starter(self) -> None:
        """Note that this process is about to start the command."""
        write_record(self.path / "starter.json", ProcessId.current())

    def is_starting(self) -> bool:
        """Whether the process that starts the command may still do so."""
        starter = read_record(ProcessId, self.path / "starter.json")
        return starter.status(ProcessId.current()) in (ProcessStatus.RUNNING, ProcessStatus.REMOTE)

    def copy_state(self) -> CopyState:
        """How far the log was copied."""
        with suppress(FileNotFoundError):
            return read_record(CopyState, self.path / "copy.json")
        return CopyState()

    def save_copy_state(self, state: CopyState) -> None:
        """It need not survive a power cut."""
        write_record(self.path / "copy.json", state, durable=False)

    def files(self) -> Listing:
        """The outputs at the latest look."""
        return read_record(Listing, self.path / "files.json")

    def save_files(self, files: Listing) -> None:
        """Keep the outputs."""
        write_record(self.path / "files.json", files, durable=False)

    def copy_of_log(self, job: HostJob) -> str:
        """The path of the copy; empty if the job has no log."""
        return str(self.log(job)) if job.target.log else ""

    def log(self, job: HostJob) -> Path:
        """The path of the copy, which has the name of the log; ``_`` precedes those of `_OWN`."""
        name = basename(job.target.log) or _OUTPUT
        return self.path / (f"_{name}" if name in _OWN else name)


@dataclass(frozen=True, slots=True)
class HostRecords:
    """The jobs of all hosts, in one folder."""

    folder: Path

    def create(self, job: HostJob) -> HostJobFolder:
        """Record a new job under the next free number."""
        folder = HostJobFolder(reserve_folder(self.folder))
        folder.save(job)
        return folder

    def of(self, number: int) -> HostJobFolder:
        """The folder of a job."""
        return HostJobFolder(self.folder / str(number))

    def jobs(self, host: str) -> Iterator[tuple[HostJobFolder, HostJob]]:
        """The jobs of a host that somebody watches, oldest first."""
        return ((folder, job) for folder, job in self.all_jobs(host) if not job.is_dropped)

    def all_jobs(self, host: str) -> Iterator[tuple[HostJobFolder, HostJob]]:
        """The jobs of a host, oldest first, without damaged records."""
        numbers = sorted(int(entry.name) for entry in self.folder.iterdir() if entry.name.isdecimal())
        for number in numbers:
            with suppress(OSError, StateUnreadable):
                folder = self.of(number)
                job = folder.load()
                if job.host == host:
                    yield folder, job

    def _of_host(self, host: str, suffix: str) -> Path:
        return self.folder / f"{quote(host, safe='')}.{suffix}"

    def save_rows(self, host: str, text: str) -> None:
        """Keep the latest answer."""
        write_atomically(self._of_host(host, "rows"), text.encode(), durable=False)

    def rows(self, host: str) -> str:
        """The latest answer."""
        return (self._of_host(host, "rows")).read_text(encoding="utf-8", errors="replace")

    def save_usage(self, host: str, usage: Sample) -> None:
        """Keep the usage."""
        write_record(self._of_host(host, "usage.json"), usage, durable=False)

    def save_boots(self, host: str, answered_s: dict[str, float]) -> None:
        """Note when each machine, by its boot id, last answered under the name of a host."""
        write_record(self._of_host(host, "boots.json"), {"answered_s": answered_s}, durable=False)

    def boots(self, host: str) -> dict[str, float]:
        """When each last answered."""
        # without a record, the time of registration counts
        with suppress(FileNotFoundError, StateUnreadable):
            found = read_record(dict[str, dict[str, float]], self._of_host(host, "boots.json"))
            return found.get("answered_s", {})
        return {}

    def usage(self, host: str) -> Sample:
        """The usage at the latest look."""
        return read_record(Sample, self._of_host(host, "usage.json"))
