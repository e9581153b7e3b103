"""Submit a job to a Ray cluster once, also if answers get lost.

Its submission id is recorded before the first request. Ray starts a job only once under an id, so after a
request without an answer the same id is sent again. That Ray does not know the id right after that proves
nothing: a request may still be on its way.

A user may name the id. So two homes, or two attempts, may send the same one, and Ray starts the first. A
token in the metadata, which Ray shows with the job, says whose it is. A job that shows none, e.g. one of
`ray job submit` that was sent at the same moment, counts as ours.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected, StorageFailed
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.scheduler.base import RemoteJob
from jobmon_core.scheduler.ray.ray_job import SUBMISSION_KEY
from jobmon_core.scheduler.ray.records import JobFolder, Registered, all_folders, new_folder
from jobmon_core.scheduler.ray.submission.package import is_folder_here, package_of
from jobmon_core.system.lock import command_lock
from jobmon_core.system.worker import Worker, WorkerFailed

if TYPE_CHECKING:
    from jobmon_core.scheduler.base import BackendResources
    from jobmon_core.scheduler.ray.api import RayApi

_LOCK_TIMEOUT_S = 30.0
_WITHIN_S = 60.0  # of all attempts
_WAIT_S = 1.0  # between two
_UPLOAD_TIMEOUT_S = 300.0
_MAX_UNSENT = 3  # attempts to connect
_SERVER_ERROR = 500
_WORKING_DIR = "working_dir"
_TAKEN = "the Ray cluster has a job with this submission id already"


class Fate(StrEnum):
    """What became of a submission."""

    ACCEPTED = "accepted"
    REFUSED = "refused"  # nothing was submitted
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Submitted:
    """The result of a submission, with the reason unless it was accepted."""

    fate: Fate
    why: str = ""


def new_submission_id() -> str:
    """Return an id that no other job has; Ray accepts letters, digits and hyphens everywhere."""
    return f"jobmon-{uuid.uuid4().hex[:16]}"


class RaySubmission:
    """One job that is to be submitted to one cluster."""

    def __init__(self, resources: BackendResources, service: str, description: Mapping[str, object]) -> None:
        """Set up without any I/O; ``description`` is the body of the request, with its submission id."""
        self._resources = resources
        self._service = service
        self._description = description
        self._folder: JobFolder | None = None

    def record(self) -> RemoteJob:
        """Record the job before it is submitted.

        Raises:
            SchedulerRejected: jobmon has submitted a job under this id before, and Ray may still show it.
            CommandBusy: another `jobmon submit` holds the lock.
            StorageFailed: it cannot be recorded.
        """
        name, command = str(self._description["submission_id"]), str(self._description["entrypoint"])
        job = Registered(
            self._service,
            name,
            at_s=time.time(),
            is_confirmed=False,
            entrypoint=command,
            workdir="/",
            token=uuid.uuid4().hex,
        )
        try:
            root = self._resources.folder()
            with command_lock(root / "submit.lock", "jobmon submit", _LOCK_TIMEOUT_S):
                self._refuse_twin(root, job)
                self._folder = new_folder(root, job, lambda number: self._resources.is_known(JobRef(number)))
            self._folder.save_attempt(is_sent=False)
        except OSError as error:
            raise StorageFailed(f"the job cannot be recorded: {error}") from error
        folder = self._folder
        return RemoteJob(
            JobRef(folder.job_id), self._service, name, folder.logs, workdir=job.workdir, command=command
        )

    def _refuse_twin(self, root: Path, job: Registered) -> None:
        """Raise SchedulerRejected if what jobmon has submitted under this id may still appear."""
        for folder in all_folders(root):
            other = folder.registered()
            if (
                other
                and (other.service, other.name) == (job.service, job.name)
                and not other.is_confirmed
                and (folder.may_appear(other) or not other.token)
            ):
                raise SchedulerRejected(
                    f"jobmon has submitted {job.name} to this cluster as job {folder.job_id}, and Ray has "
                    "not shown it yet; use another --submission-id"
                )

    def discard(self) -> None:
        """Remove the record of a job that was not submitted."""
        if self._folder:
            shutil.rmtree(self._folder.path, ignore_errors=True)

    def submit(self) -> Submitted:
        """Submit the recorded job, in a helper; takes up to a minute, and five more to send a folder."""
        folder, service = self._recorded(), self._service
        description = self._with_token(folder)
        try:
            return Worker(self._resources.locks).run(
                Submitted, lambda: _submit(folder, service, description), _WITHIN_S + _UPLOAD_TIMEOUT_S
            )
        except WorkerFailed as error:  # its process has ended
            attempt = folder.attempt()
            is_unsent = attempt is not None and not attempt.is_sent
            why = str(error).strip().rpartition("\n")[2]  # of a traceback, the error
            return Submitted(Fate.REFUSED if is_unsent else Fate.UNKNOWN, why)

    def _with_token(self, folder: JobFolder) -> dict[str, object]:
        """Return the body of the request, with the token of the submission in its metadata."""
        metadata, job = self._description.get("metadata") or {}, folder.registered()
        if job is None or not isinstance(metadata, Mapping):  # Ray refuses such metadata
            return dict(self._description)
        return {**self._description, "metadata": {**metadata, SUBMISSION_KEY: job.token}}

    def _recorded(self) -> JobFolder:
        if self._folder is None:
            raise RuntimeError("a job is recorded before it is submitted")
        return self._folder


def _submit(folder: JobFolder, service: str, description: dict[str, object]) -> Submitted:
    from jobmon_core.scheduler.ray.api import Failed, RayApi, Version  # loads HTTP: only in the helper
    from jobmon_core.scheduler.ray.ray_job import RayJob

    folder.save_attempt(is_sent=False)  # names this helper, which may outlive the command
    api = RayApi(service, os.environ)
    version = api.version()
    if not isinstance(version, Version):
        return Submitted(Fate.REFUSED, version.why)
    if isinstance(api.job(str(description["submission_id"])), RayJob):
        return Submitted(Fate.REFUSED, _TAKEN)
    environment = description.get("runtime_env")
    working_dir = environment.get(_WORKING_DIR) if isinstance(environment, dict) else None
    if isinstance(environment, dict) and isinstance(working_dir, str) and is_folder_here(working_dir):
        try:
            package = package_of(Path(working_dir))
        except SchedulerRejected as error:
            return Submitted(Fate.REFUSED, str(error))
        if not api.has_package(package.name):
            failed = api.upload_package(package.name, package.content, _UPLOAD_TIMEOUT_S)
            if isinstance(failed, Failed):
                return Submitted(Fate.REFUSED, f"the working folder was not sent: {failed.why}")
        description = {**description, "runtime_env": {**environment, _WORKING_DIR: package.uri}}
    return send(api, description, _WITHIN_S, folder)


def send(api: RayApi, description: Mapping[str, object], within_s: float, folder: JobFolder) -> Submitted:
    """Send the request until its fate is known or the time is over; note each attempt in the job's folder."""
    from jobmon_core.scheduler.ray.api import Failed

    name, deadline_s = str(description["submission_id"]), time.monotonic() + within_s
    registered = folder.registered()
    may_have_arrived, unsent = False, 0
    while True:
        folder.save_attempt(is_sent=True)
        answer = api.submit(description)
        if not isinstance(answer, Failed):
            return Submitted(Fate.ACCEPTED)
        is_refusal = answer.status is not None and answer.status < _SERVER_ERROR
        if is_refusal and not may_have_arrived:
            return Submitted(Fate.REFUSED, answer.why)
        unsent += not answer.is_sent
        may_have_arrived = may_have_arrived or (answer.is_sent and not is_refusal)
        if not may_have_arrived and unsent >= _MAX_UNSENT:
            return Submitted(Fate.REFUSED, answer.why)
        if may_have_arrived and answer.status is not None:  # perhaps since the job exists already
            job = api.job(name)
            if job is not None and not isinstance(job, Failed):
                if registered and registered.is_of_another_submission(job):
                    return Submitted(Fate.REFUSED, _TAKEN)
                return Submitted(Fate.ACCEPTED)
        if time.monotonic() + _WAIT_S > deadline_s:
            return Submitted(Fate.UNKNOWN if may_have_arrived else Fate.REFUSED, answer.why)
        time.sleep(_WAIT_S)
