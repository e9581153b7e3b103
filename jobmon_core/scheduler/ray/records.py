"""The records of the Ray jobs that jobmon follows, see `JobFolder`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.scheduler import services
from jobmon_core.scheduler.base import RemoteJob
from jobmon_core.scheduler.numbered_files import write_record
from jobmon_core.scheduler.ray.ray_job import RayJob  # noqa: TC001 - json_codec reads the hints
from jobmon_core.system.process import ProcessId, ProcessStatus

if TYPE_CHECKING:
    from pathlib import Path

_MAX_ATTEMPT_S = 900.0  # an attempt that notes nothing for this long is over; it may have a folder to send
_APPEARS_WITHIN_S = 120.0  # how soon after the last request Ray shows a job that it accepted


@dataclass(frozen=True, slots=True)
class Registered(services.RegisteredJob):
    """What identifies a job; written again when Ray first shows a submission."""

    name: str
    session: str = ""  # of the Ray cluster, which a new head changes; empty before Ray 2.38
    at_s: float = 0.0
    is_confirmed: bool = True  # whether Ray has ever shown it; else see `SubmitAttempt`
    entrypoint: str = ""
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
class SeenStatus(services.SeenStatus):
    """What the latest looks showed of a job."""

    driver: str = ""
    short: str = ""
    short_since_s: float | None = None


@dataclass(frozen=True, slots=True)
class ListedJobs:
    """The jobs of a cluster and its session, or why they are not known."""

    jobs: tuple[RayJob, ...] = ()
    session: str = ""
    problem: str = ""


class RayJobFolder(services.JobFolder[Registered, SeenStatus]):
    """The files of one job."""

    JOB, STATUS, LOG = Registered, SeenStatus, "driver.log"

    def save_attempt(self, *, is_sent: bool) -> None:
        """This process is about to submit the job."""
        attempt = SubmitAttempt(time.time(), ProcessId.current(), is_sent)
        write_record(self.path / "attempt.json", attempt, durable=False)

    def attempt(self) -> SubmitAttempt | None:
        """The latest one, if it can be read."""
        return self.read("attempt.json", SubmitAttempt)

    def may_appear(self, job: Registered) -> bool:
        """Whether a job that Ray has never shown may still appear."""
        attempt = self.attempt()
        if attempt is None:
            return time.time() - job.at_s < _APPEARS_WITHIN_S
        status, age_s = attempt.process.status(ProcessId.current()), time.time() - attempt.at_s
        may_live = status in (ProcessStatus.RUNNING, ProcessStatus.REMOTE) and age_s < _MAX_ATTEMPT_S
        return may_live or age_s < _APPEARS_WITHIN_S

    def reconsider(self) -> None:
        """Ray shows the job now: it did get the submission."""
        status, job = self.status(), self.registered()
        if status.is_final and job and not job.is_confirmed:
            self.save_status(SeenStatus(), status)

    def remote_job(self, job: Registered) -> RemoteJob:
        """As the use cases take it."""
        return RemoteJob(
            JobRef(self.job_id),
            job.service,
            job.name,
            self.logs,
            workdir="/",
            command=job.entrypoint,
            submit_s=job.start_s,
        )


def find_folder(root: Path, service: str, entry: RayJob, session: str) -> RayJobFolder | None:
    """The newest folder of the job with this entry."""
    for folder in sorted(RayJobFolder.all(root), key=lambda each: -each.job_id):
        job = folder.registered()
        if job and (job.service, job.name) == (service, entry.name) and job.is_entry(entry, session):
            return folder
    return None
