"""The records of the Ray jobs that jobmon follows: a folder each, by jobmon's number."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths, literal
from jobmon_core.scheduler.numbered_files import read_record, reserve_folder, write_record
from jobmon_core.scheduler.ray.ray_job import RayJob  # noqa: TC001 - json_codec reads the hints
from jobmon_core.scheduler.records import StatusRow  # noqa: TC001 - json_codec reads the hints
from jobmon_core.system.process import ProcessId, ProcessStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = TypeVar("T")

_MAX_ATTEMPT_S = 900.0  # an attempt that notes nothing for this long is over; it may have a folder to send
_APPEARS_WITHIN_S = 120.0  # how soon after the last request Ray shows a job that it accepted
_SHOWN_S = 600.0  # how long the queue lists an ended job


@dataclass(frozen=True, slots=True)
class Registered:
    """What identifies a job; written again when Ray first shows a submission."""

    service: str
    name: str
    session: str = ""  # of the Ray cluster, which a new head changes; empty before Ray 2.38
    at_s: float = 0.0
    is_confirmed: bool = True  # whether Ray has ever shown it; else see `SubmitAttempt`
    entrypoint: str = ""
    workdir: str = ""
    start_s: int | None = None
    token: str = ""

    def is_entry(self, entry: RayJob, session: str) -> bool:
        """Whether an entry with the job's name is this job.

        After a restart of the head, or a deletion, another job may have the name.
        """
        is_of_session = not (self.session and session) or self.session == session
        has_start = self.start_s is not None and entry.start_s is not None
        return (
            is_of_session
            and (not has_start or self.start_s == entry.start_s)
            and not self.is_of_another_submission(entry)
        )

    def is_of_another_submission(self, entry: RayJob) -> bool:
        """By its token, e.g. of another home."""
        return bool(self.token and entry.token) and self.token != entry.token


@dataclass(frozen=True, slots=True)
class SubmitAttempt:
    """The latest one."""

    at_s: float
    process: ProcessId
    is_sent: bool = False


@dataclass(frozen=True, slots=True)
class SeenStatus:
    """What the latest queries showed of a job."""

    row: StatusRow | None = None
    gone_why: str = ""
    driver: str = ""
    short: str = ""
    short_since_s: float | None = None

    @property
    def is_final(self) -> bool:
        """Whether the job has ended, or Ray does not know it any more."""
        return bool(self.gone_why) or (self.row is not None and not self.row.job_state.is_alive)


@dataclass(frozen=True, slots=True)
class ListedJobs:
    """The jobs of a cluster and its session, or why they are not known."""

    jobs: tuple[RayJob, ...] = ()
    session: str = ""
    problem: str = ""


class RayJobFolder(NamedTuple):
    """The files of one job."""

    path: Path

    @property
    def job_id(self) -> int:
        """The job's number."""
        return int(self.path.name)

    @property
    def log(self) -> Path:
        """The copy of the driver's log."""
        return self.path / "driver.log"

    @property
    def logs(self) -> LogPaths:
        """Templates: stdout and stderr of a driver are one file."""
        path = literal(str(self.log))
        return LogPaths(path, path, BY_USER)

    def registered(self) -> Registered | None:
        """None if it cannot be read."""
        return _read(self.path / "job.json", Registered)

    def register(self, job: Registered) -> None:
        """Write what identifies the job."""
        _write(self.path / "job.json", job)

    def save_attempt(self, *, is_sent: bool) -> None:
        """This process is about to submit the job."""
        _write(self.path / "attempt.json", SubmitAttempt(time.time(), ProcessId.current(), is_sent))

    def attempt(self) -> SubmitAttempt | None:
        """The latest one, if it can be read."""
        return _read(self.path / "attempt.json", SubmitAttempt)

    def may_appear(self, job: Registered) -> bool:
        """Whether a job that Ray has never shown may still appear."""
        attempt = self.attempt()
        if attempt is None:
            return time.time() - job.at_s < _APPEARS_WITHIN_S
        status, age_s = attempt.process.status(ProcessId.current()), time.time() - attempt.at_s
        may_live = status in (ProcessStatus.RUNNING, ProcessStatus.REMOTE) and age_s < _MAX_ATTEMPT_S
        return may_live or age_s < _APPEARS_WITHIN_S

    def status(self) -> SeenStatus:
        """What the latest queries showed."""
        return _read(self.path / "status.json", SeenStatus) or SeenStatus()

    def save_status(self, status: SeenStatus, before: SeenStatus) -> None:
        """Write it if it is new."""
        if status != before:
            _write(self.path / "status.json", status)
        if status.is_final and not before.is_final:
            (self.path / "ended").touch()
        elif before.is_final and not status.is_final:
            (self.path / "ended").unlink(missing_ok=True)

    def reconsider(self) -> None:
        """Ray shows the job now: it did get the submission."""
        status, job = self.status(), self.registered()
        if status.is_final and job and not job.is_confirmed:
            self.save_status(SeenStatus(), status)

    def ended_long_ago(self) -> bool:
        """Whether the queue need not list it any more."""
        try:
            return time.time() - (self.path / "ended").stat().st_mtime > _SHOWN_S
        except FileNotFoundError:
            return False


def all_folders(root: Path) -> Iterator[RayJobFolder]:
    """Of all jobs."""
    return (RayJobFolder(path) for path in root.iterdir() if path.name.isdecimal())


def find_folder(root: Path, service: str, entry: RayJob, session: str) -> RayJobFolder | None:
    """The newest folder of the job with this entry."""
    for folder in sorted(all_folders(root), key=lambda each: -each.job_id):
        job = folder.registered()
        if job and (job.service, job.name) == (service, entry.name) and job.is_entry(entry, session):
            return folder
    return None


def new_folder(root: Path, job: Registered, is_taken: Callable[[int], bool]) -> RayJobFolder:
    """Its number is the next one that is not taken."""
    folder = RayJobFolder(reserve_folder(root, is_taken))
    folder.register(job)
    return folder


def _read(path: Path, kind: type[T]) -> T | None:
    with suppress(OSError, StateUnreadable):
        return read_record(kind, path)
    return None


def _write(path: Path, record: object) -> None:
    write_record(path, record, durable=False)
