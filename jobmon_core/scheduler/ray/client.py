"""A Ray cluster: its name, and the jobs there that jobmon follows, by jobmon's numbers."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from jobmon_core.domain.backends import url_of
from jobmon_core.domain.errors import SchedulerRejected, SchedulerUnavailable, StorageFailed, UnknownJob
from jobmon_core.domain.job.restart.model import ProcessesLeft
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.base import RemoteJob
from jobmon_core.scheduler.ray.ray_job import RayFailed
from jobmon_core.scheduler.ray.records import (
    ListedJobs,
    RayJobFolder,
    Registered,
    find_folder,
    new_folder,
)
from jobmon_core.scheduler.records import Reply, WithoutAccounting, latest_record
from jobmon_core.system.helper import Helper, HelperFailed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from jobmon_core.domain.node.health.model import ClusterResources
    from jobmon_core.domain.slurm.log_paths import LogPaths
    from jobmon_core.domain.slurm.rows import RecordAnswer
    from jobmon_core.scheduler.base import BackendResources
    from jobmon_core.scheduler.ray.ray_job import RayJob

_TIMEOUT_S = 120.0
_LIST_TIMEOUT_S = 60.0
_MAX_NAMED = 5
DEFAULT_URL = "http://127.0.0.1:8265"  # the default of `ray job submit`
VARIABLES = ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS")  # in the order in which `ray job submit` reads them
_HTTP = "http://"


def find_service(address: str, environment: Mapping[str, str]) -> str:
    """The name of the cluster: by ``--address``, else by Ray's variables, else this machine's."""
    named = next((name for name in VARIABLES if environment.get(name, "").strip()), "")
    text = address.strip() or environment.get(named, "").strip()
    if text in ("", "auto", "local"):
        return service_name(DEFAULT_URL)
    source = "--address" if address.strip() else named
    url = text if "://" in text else f"{_HTTP}{text}"
    if _has_secret(url):
        raise SchedulerRejected(
            f"{source} contains more than a host and a port, perhaps a password; put headers for a proxy into"
            " the variable RAY_JOB_HEADERS"
        )
    if not _is_address(url):
        raise SchedulerRejected(
            f"{source} is {text!r}, which is not the address of a Ray dashboard; write {_HTTP}HOST:8265"
        )
    return service_name(url)


def _has_secret(url: str) -> bool:
    with suppress(ValueError):
        parts = urlsplit(url)
        return any((parts.username, parts.password, parts.query, parts.fragment))
    return False


def _is_address(url: str) -> bool:
    with suppress(ValueError):
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    return False


def service_name(url: str) -> str:
    """As users see it: ``127.0.0.1:8265``."""
    return url.removeprefix(_HTTP).rstrip("/")


@dataclass(frozen=True, slots=True)
class RayScheduler(WithoutAccounting):
    """What the dashboard says about the jobs that jobmon follows; finds others, see `RemoteJobs`."""

    name = "ray"

    resources: BackendResources
    service: str

    @property
    def _root(self) -> Path:
        return self.resources.folder()

    def ask_queue(self, user: str) -> str | Unreachable:  # noqa: ARG002 - Ray knows no users
        """See `Scheduler`; it copies the logs, too."""
        root, is_known = self._root, self.resources.is_known

        def work() -> Reply:
            from jobmon_core.scheduler.ray.poll import poll

            return poll(root, self.service, os.environ, lambda job_id: is_known(JobRef(job_id)))

        try:
            return Helper(self.resources.locks).run(Reply, work, _TIMEOUT_S).answer
        except HelperFailed as error:
            return Unreachable(f"the query of the Ray cluster {self.service} failed: {error}")

    def ask_record(self, job_id: int) -> RecordAnswer:
        """What the latest look showed."""
        status = RayJobFolder(self._root / str(job_id)).status()
        return latest_record(status.row, status.gone_why)

    def ask_log_templates(self, job_id: int) -> LogPaths | None:
        """See `Scheduler`."""
        return RayJobFolder(self._root / str(job_id)).logs

    def register(self, name: str) -> RemoteJob:
        """See `RemoteJobs`."""
        found = self._ask()
        job = next((each for each in found.jobs if name in (each.submission_id, each.job_id)), None)
        if job is None:
            raise UnknownJob(self._unknown(name, found))
        root = self._root
        try:
            folder = find_folder(root, self.service, job, found.session) or new_folder(
                root,
                Registered(
                    self.service,
                    job.name,
                    found.session,
                    time.time(),
                    entrypoint=job.entrypoint,
                    start_s=job.start_s,
                ),
                lambda number: self.resources.is_known(JobRef(number)),
            )
            folder.reconsider()
        except OSError as error:
            raise StorageFailed(f"the job {job.name} cannot be recorded: {error}") from error
        return self._remote(folder, job)

    def names(self) -> tuple[str, ...]:
        """See `RemoteJobs`."""
        return tuple(job.name for job in self._ask().jobs if not job.has_ended)

    def _remote(self, folder: RayJobFolder, job: RayJob) -> RemoteJob:
        return RemoteJob(
            JobRef(folder.job_id),
            self.service,
            job.name,
            folder.logs,
            workdir="/",
            command=job.entrypoint,
            submit_s=job.start_s,
        )

    def _ask(self) -> ListedJobs:
        service = self.service
        try:
            found = Helper(self.resources.locks).run(ListedJobs, lambda: _ask(service), _LIST_TIMEOUT_S)
        except HelperFailed as error:
            raise SchedulerUnavailable(f"the query of the Ray cluster {service} failed: {error}") from error
        if found.problem:
            raise SchedulerUnavailable(found.problem)
        return found

    def _unknown(self, name: str, found: ListedJobs) -> str:
        alive = [job.name for job in found.jobs if not job.has_ended]
        shown = ", ".join(alive[:_MAX_NAMED]) + (" ..." if len(alive) > _MAX_NAMED else "")
        running = "it runs none"
        if alive:
            running = f"it runs {shown}"
        return (
            f"the Ray cluster {self.service} has no job {name}; {running}; "
            f"`ray job list --address {url_of(self.service)}` lists all"
        )


def cluster_resources(_resources: BackendResources, service: str) -> ClusterResources | Unreachable:
    """What a cluster has and what its jobs hold."""
    from jobmon_core.scheduler.ray.api import RayApi

    try:
        return RayApi(service, os.environ).resources()
    except RayFailed as error:
        return Unreachable(str(error))


def processes_left(
    resources: BackendResources, service: str, number: int, _lineage: str
) -> ProcessesLeft | Unreachable:
    """Whether the driver and the actors of a job have ended."""
    from jobmon_core.scheduler.ray.api import RayApi
    from jobmon_core.scheduler.ray.cluster_state import death_of

    job, api = RayJobFolder(resources.folder() / str(number)).registered(), RayApi(service, os.environ)
    try:
        entry, version = api.job(job.name) if job else None, api.version()
    except RayFailed as error:
        return Unreachable(str(error))
    if job is None or entry is None or not job.is_entry(entry, version.session):
        return Unreachable(f"Ray does not know the job any more ({service})")
    proof, doubt = death_of(api, entry)
    return ProcessesLeft((), "") if proof else Unreachable(doubt)


def _ask(service: str) -> ListedJobs:
    from jobmon_core.scheduler.ray.api import RayApi  # loads HTTP: only in the helper

    api = RayApi(service, os.environ)
    try:
        version = api.version()
        return ListedJobs(tuple(api.jobs()), version.session)
    except RayFailed as error:
        return ListedJobs(problem=str(error))
