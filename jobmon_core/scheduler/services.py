"""What Ray and Kubernetes share: a folder for each job that a service names by text, and looks at a service.

FOLDER/7/job.json      what identifies job 7
FOLDER/7/status.json   what the latest looks showed
FOLDER/7/ended         when a look first showed its end
beside them, the copies of its logs
"""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from jobmon_core.domain.backends import PHRASES
from jobmon_core.domain.errors import StateUnreadable, StorageFailed
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths, literal
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.scheduler.numbered_files import read_record, reserve_folder, write_record
from jobmon_core.scheduler.records import Reply, StatusRow, WithoutAccounting
from jobmon_core.system.helper import Helper, HelperFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import Self

    from jobmon_core.domain.slurm.rows import RecordAnswer
    from jobmon_core.domain.slurm.states import JobState
    from jobmon_core.scheduler.base import BackendResources, RemoteJob

_SHOWN_S = 600.0  # how long the queue lists an ended job


@dataclass(frozen=True, slots=True)
class RegisteredJob:
    """What identifies a job."""

    service: str


@dataclass(frozen=True, slots=True)
class SeenStatus:
    """What the latest looks showed of a job."""

    row: StatusRow | None = None
    gone_why: str = ""  # why the service knows it no more

    @property
    def is_final(self) -> bool:
        """Whether the job has ended, or the service does not know it any more."""
        return bool(self.gone_why) or (self.row is not None and not self.row.job_state.is_alive)


T = TypeVar("T")
J = TypeVar("J", bound=RegisteredJob)
S = TypeVar("S", bound=SeenStatus)


@dataclass(frozen=True, slots=True)
class JobFolder(Generic[J, S]):
    """The files of one job."""

    path: Path

    JOB: ClassVar[type[Any]]
    STATUS: ClassVar[type[Any]]
    LOG: ClassVar[str]

    @classmethod
    def all(cls, root: Path) -> Iterator[Self]:
        """Of all jobs."""
        return (cls(path) for path in root.iterdir() if path.name.isdecimal())

    @classmethod
    def new(cls, resources: BackendResources, job: J) -> Self:
        """Its number is the next one that is not taken."""
        folder = cls(reserve_folder(resources.folder(), lambda number: resources.is_known(JobRef(number))))
        folder.register(job)
        return folder

    @classmethod
    def followed(
        cls, root: Path, service: str, is_known: Callable[[int], bool]
    ) -> Iterator[tuple[Self, J, S]]:
        """Those that a look at a service is about, with what is known of them."""
        for folder in cls.all(root):
            if folder.ended_long_ago():
                continue
            job = folder.registered()
            if job and job.service == service and is_known(folder.job_id):
                yield folder, job, folder.status()

    @property
    def job_id(self) -> int:
        """The job's number."""
        return int(self.path.name)

    @property
    def log(self) -> Path:
        """The copy of its log."""
        return self.path / self.LOG

    @property
    def logs(self) -> LogPaths:
        """Templates: stdout and stderr are one file."""
        path = literal(str(self.log))
        return LogPaths(path, path, BY_USER)

    def registered(self) -> J | None:
        """None if it cannot be read."""
        job: J | None = self.read("job.json", self.JOB)
        return job

    def register(self, job: J) -> None:
        """Write what identifies the job."""
        write_record(self.path / "job.json", job)

    def status(self) -> S:
        """What the latest looks showed."""
        status: S = self.read("status.json", self.STATUS) or self.STATUS()
        return status

    def save_status(self, status: S, before: S) -> None:
        """Write it if it is new."""
        if status != before:
            write_record(self.path / "status.json", status, durable=False)
        if status.is_final and not before.is_final:
            (self.path / "ended").touch()
        elif before.is_final and not status.is_final:
            (self.path / "ended").unlink(missing_ok=True)

    def ended_long_ago(self) -> bool:
        """Whether the queue need not list it any more."""
        try:
            return time.time() - (self.path / "ended").stat().st_mtime > _SHOWN_S
        except FileNotFoundError:
            return False

    def read(self, name: str, kind: type[T]) -> T | None:
        """The record in a file; None if it cannot be read."""
        with suppress(OSError, StateUnreadable):
            return read_record(kind, self.path / name)
        return None

    def row(self, state: JobState, **known: Any) -> StatusRow:  # noqa: ANN401 - fields of the row
        """What a look shows of it."""
        number, log = self.job_id, str(self.log)
        return StatusRow(number, state, number, workdir="/", stdout=log, stderr=log, **known)

    def remote_job(self, job: J) -> RemoteJob:
        """As the use cases take it."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ServiceScheduler(WithoutAccounting):
    """What a service shows of the jobs that jobmon follows there, see `Scheduler`."""

    name = ""
    FOLDER: ClassVar[type[JobFolder[Any, Any]]]
    WITHIN_S: ClassVar[float]

    resources: BackendResources
    service: str

    def ask_queue(self, user: str) -> str | Unreachable:  # noqa: ARG002 - services know no users
        """See `Scheduler`; it copies the logs, too."""
        root, is_known = self.resources.folder(), self.resources.is_known

        def work() -> Reply:  # loads what an idle monitor does not need
            poll = import_module(f"jobmon_core.scheduler.{self.name}.poll").poll
            reply: Reply = poll(root, self.service, lambda job_id: is_known(JobRef(job_id)))
            return reply

        answer = self.in_helper(Reply, work, self.WITHIN_S)
        return answer if isinstance(answer, Unreachable) else answer.answer

    def in_helper(self, kind: type[T], work: Callable[[], T], within_s: float) -> T | Unreachable:
        """What a helper finds out."""
        try:
            return Helper(self.resources.locks).run(kind, work, within_s)
        except HelperFailed as error:
            return Unreachable(f"the query of {PHRASES[self.name]} ({self.service}) failed: {error.reason}")

    def folder_of(self, job_id: int) -> JobFolder[Any, Any]:
        """The files of the job with this number."""
        return self.FOLDER(self.resources.folder() / str(job_id))

    def ask_record(self, job_id: int) -> RecordAnswer:
        """What the latest look showed."""
        status = self.folder_of(job_id).status()
        if status.row is None or status.gone_why:
            return NotListed(status.gone_why)
        return (status.row.as_record(),)

    def ask_log_templates(self, job_id: int) -> LogPaths | None:
        """See `Scheduler`."""
        return self.folder_of(job_id).logs


@dataclass(slots=True)
class JobSubmission(Generic[J]):
    """One job that is to be submitted, see `ServiceSubmission`."""

    FOLDER: ClassVar[type[JobFolder[Any, Any]]]

    resources: BackendResources
    service: str
    request: Mapping[str, Any]  # as the service takes it
    number: int = 0

    def job(self) -> J:
        """What identifies it."""
        raise NotImplementedError

    def new_folder(self, job: J) -> JobFolder[J, Any]:
        """Make the files of the job."""
        return self.FOLDER.new(self.resources, job)

    def record(self) -> RemoteJob:
        """Record the job first."""
        job = self.job()
        try:
            folder = self.new_folder(job)
        except OSError as error:
            raise StorageFailed(f"the job cannot be recorded: {error}") from error
        self.number = folder.job_id
        return folder.remote_job(job)

    def discard(self) -> None:
        """The job was not submitted."""
        shutil.rmtree(self.resources.folder() / str(self.number), ignore_errors=True)
