"""Finds jobs of a Ray cluster by their ids, and gives them numbers."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from jobmon_core.domain.backends import url_of
from jobmon_core.domain.errors import SchedulerUnavailable, StorageFailed, UnknownJob
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.scheduler.base import RemoteJob
from jobmon_core.scheduler.ray.records import Found, JobFolder, Registered, find_folder, new_folder
from jobmon_core.system.helper import Helper, HelperFailed

if TYPE_CHECKING:
    from jobmon_core.scheduler.base import BackendResources
    from jobmon_core.scheduler.ray.ray_job import RayJob

_TIMEOUT_S = 60.0
_MAX_NAMED = 5  # jobs that an error names


class RayRemoteJobs:
    """The jobs of one cluster."""

    def __init__(self, resources: BackendResources, service: str) -> None:
        """Set up without any I/O; ``service`` names the cluster."""
        self._resources = resources
        self._service = service

    def register(self, name: str) -> RemoteJob:
        """Return the job with this submission id, or job id of a driver; see `RemoteJobs`."""
        found = self._ask()
        job = next((each for each in found.jobs if name in (each.submission_id, each.job_id)), None)
        if job is None:
            raise UnknownJob(self._unknown(name, found))
        root = self._resources.folder()
        try:
            folder = find_folder(root, self._service, job, found.session) or new_folder(
                root,
                Registered(
                    self._service,
                    job.name,
                    found.session,
                    time.time(),
                    entrypoint=job.entrypoint,
                    start_s=job.start_s,
                ),
                lambda number: self._resources.is_known(JobRef(number)),
            )
            folder.reconsider()
        except OSError as error:
            raise StorageFailed(f"the job {job.name} cannot be recorded: {error}") from error
        return self._remote(folder, job)

    def names(self) -> tuple[str, ...]:
        """Return the ids of all jobs that Ray does not show as ended; see `RemoteJobs`."""
        return tuple(job.name for job in self._ask().jobs if not job.has_ended)

    def _remote(self, folder: JobFolder, job: RayJob) -> RemoteJob:
        return RemoteJob(
            JobRef(folder.job_id),
            self._service,
            job.name,
            folder.logs,
            workdir="/",
            command=job.entrypoint,
            submit_s=job.start_s,
        )

    def _ask(self) -> Found:
        """Ask for all jobs, in a helper."""
        service = self._service
        try:
            found = Helper(self._resources.locks).run(Found, lambda: _ask(service), _TIMEOUT_S)
        except HelperFailed as error:
            raise SchedulerUnavailable(f"the query of the Ray cluster {service} failed: {error}") from error
        if found.problem:
            raise SchedulerUnavailable(found.problem)
        return found

    def _unknown(self, name: str, found: Found) -> str:
        alive = [job.name for job in found.jobs if not job.has_ended]
        shown = ", ".join(alive[:_MAX_NAMED]) + (" ..." if len(alive) > _MAX_NAMED else "")
        running = "it runs none"
        if alive:
            running = f"it runs {shown}"
        return (
            f"the Ray cluster {self._service} has no job {name}; {running}; "
            f"`ray job list --address {url_of(self._service)}` lists all"
        )


def _ask(service: str) -> Found:
    from jobmon_core.scheduler.ray.api import Failed, RayApi  # loads HTTP: only in the helper

    api = RayApi(service, os.environ)
    version = api.version()
    if isinstance(version, Failed):
        return Found(problem=version.why)
    jobs = api.jobs()
    if isinstance(jobs, Failed):
        return Found(problem=jobs.why)
    return Found(tuple(jobs), version.session)
