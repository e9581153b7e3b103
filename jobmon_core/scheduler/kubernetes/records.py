"""What jobmon keeps of the jobs on Kubernetes: a folder each, by jobmon's number.

FOLDER/7/job.json      what identifies job 7
FOLDER/7/status.json   what the latest looks showed
FOLDER/7/logs.json     how far the log of each pod was copied
FOLDER/7/job.log       the copy for its first pod; pod-1.log, pod-2.log ... for those beside it
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths, literal
from jobmon_core.scheduler.base import RemoteJob
from jobmon_core.scheduler.kubernetes.pods import PodEnd  # noqa: TC001 - json_codec reads the hints
from jobmon_core.scheduler.numbered_files import read_record, reserve_folder, write_record
from jobmon_core.scheduler.records import StatusRow  # noqa: TC001 - json_codec reads the hints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = TypeVar("T")

FURTHER_LOGS = "pod-*.log"
_SHOWN_S = 600.0  # how long the queue lists an ended job


@dataclass(frozen=True, slots=True)
class Registered:
    """What identifies a job; ``uid`` is empty until the cluster has shown a submission."""

    service: str
    kind: str  # see `reading.WORDS`
    name: str
    uid: str = ""
    at_s: float = 0.0
    submit_s: int | None = None
    completions: int = 1
    retries: int = 0
    command: str = ""
    token: str = ""  # of jobmon's submission; it is in an annotation of the object

    @property
    def has_several_pods(self) -> bool:
        """Whether pods of it may run side by side."""
        return self.completions > 1 or self.kind not in ("job", "pod")

    @property
    def full_name(self) -> str:
        """As users and kubectl call it: ``job/train``."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class SeenStatus:
    """What the latest looks showed of a job."""

    row: StatusRow | None = None
    gone_why: str = ""
    stuck_since_s: float | None = None
    ends: dict[str, PodEnd] = field(default_factory=dict)  # by the uids of pods

    @property
    def is_final(self) -> bool:
        """Whether the job has ended, or Kubernetes does not know it any more."""
        return bool(self.gone_why) or (self.row is not None and not self.row.job_state.is_alive)


class KubeJobFolder(NamedTuple):
    """The files of one job."""

    path: Path

    @property
    def job_id(self) -> int:
        """The job's number."""
        return int(self.path.name)

    @property
    def log(self) -> Path:
        """The copy of the first pod's log."""
        return self.path / "job.log"

    @property
    def logs(self) -> LogPaths:
        """Templates: stdout and stderr of a container are one log."""
        path = literal(str(self.log))
        return LogPaths(path, path, BY_USER)

    def registered(self) -> Registered | None:
        """None if it cannot be read."""
        return self.read("job.json", Registered)

    def register(self, job: Registered) -> None:
        """Write what identifies the job."""
        write_record(self.path / "job.json", job)

    def status(self) -> SeenStatus:
        """What the latest looks showed."""
        return self.read("status.json", SeenStatus) or SeenStatus()

    def save_status(self, status: SeenStatus, before: SeenStatus) -> None:
        """Write it if it is new."""
        if status != before:
            write_record(self.path / "status.json", status, durable=False)
        if status.is_final and not before.is_final:
            (self.path / "ended").touch()

    def note_cancelled(self, *, is_so: bool = True) -> None:
        """The user has jobmon delete it."""
        if is_so:
            (self.path / "cancelled").touch()
        else:
            (self.path / "cancelled").unlink(missing_ok=True)

    def remote_job(self, job: Registered) -> RemoteJob:
        """As the use cases take it."""
        return RemoteJob(
            JobRef(self.job_id),
            job.service,
            job.full_name,
            self.logs,
            workdir="/",
            command=job.command,
            submit_s=job.submit_s,
            further_logs=FURTHER_LOGS if job.has_several_pods else "",
        )

    @property
    def is_cancelled(self) -> bool:
        """Whether jobmon deleted it for the user."""
        return (self.path / "cancelled").exists()

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


def all_folders(root: Path) -> Iterator[KubeJobFolder]:
    """Of all jobs."""
    return (KubeJobFolder(path) for path in root.iterdir() if path.name.isdecimal())


def find_folder(root: Path, uid: str) -> KubeJobFolder | None:
    """The folder of the object with this uid, which no other object of any cluster has."""
    folders = sorted(all_folders(root), key=lambda each: -each.job_id)
    return next((each for each in folders if (job := each.registered()) and job.uid == uid), None)


def new_folder(root: Path, job: Registered, is_taken: Callable[[int], bool]) -> KubeJobFolder:
    """Its number is the next one that is not taken."""
    folder = KubeJobFolder(reserve_folder(root, is_taken))
    folder.register(job)
    return folder
