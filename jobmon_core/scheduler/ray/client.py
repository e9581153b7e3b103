"""A Ray cluster: its name, and the jobs there that jobmon follows, by jobmon's numbers."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from jobmon_core.domain.backends import url_of
from jobmon_core.domain.errors import SchedulerRejected, SchedulerUnavailable, StorageFailed, UnknownJob
from jobmon_core.domain.job.restart.model import ProcessesLeft
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.ray.ray_job import RayFailed
from jobmon_core.scheduler.ray.records import ListedJobs, RayJobFolder, Registered, find_folder
from jobmon_core.scheduler.services import ServiceScheduler

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.domain.node.health.model import ClusterResources
    from jobmon_core.scheduler.base import BackendResources, RemoteJob

_LIST_TIMEOUT_S = 60.0
_MAX_NAMED = 5
DEFAULT_URL = "http://127.0.0.1:8265"  # the default of `ray job submit`
VARIABLES = ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS")  # in the order in which `ray job submit` reads them
_HTTP = "http://"
_MORE = (
    "contains more than a host and a port, perhaps a password; put headers for a proxy into the variable "
    "RAY_JOB_HEADERS"
)
_NO_ADDRESS = f"is {{!r}}, which is not the address of a Ray dashboard; write {_HTTP}HOST:8265"


def find_service(address: str, environment: Mapping[str, str]) -> str:
    """The name of the cluster: by ``--address``, else by Ray's variables, else this machine's."""
    named = next((name for name in VARIABLES if environment.get(name, "").strip()), "")
    text = address.strip() or environment.get(named, "").strip()
    if text in ("", "auto", "local"):
        return service_name(DEFAULT_URL)
    source = "--address" if address.strip() else named
    url = text if "://" in text else f"{_HTTP}{text}"
    if fault := _fault_of(url):
        raise SchedulerRejected(f"{source} {fault.format(text)}")
    return service_name(url)


def _fault_of(url: str) -> str:
    if any(mark in url for mark in "@?#"):
        return _MORE
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return ""
    return _NO_ADDRESS


def service_name(url: str) -> str:
    """As users see it: ``127.0.0.1:8265``."""
    return url.removeprefix(_HTTP).rstrip("/")


class RayScheduler(ServiceScheduler):
    """What the dashboard says about the jobs that jobmon follows; finds others, see `RemoteJobs`."""

    name = "ray"
    FOLDER, WITHIN_S = RayJobFolder, 120.0

    def register(self, name: str) -> RemoteJob:
        """See `RemoteJobs`."""
        found = self._ask()
        job = next((each for each in found.jobs if name in (each.submission_id, each.job_id)), None)
        if job is None:
            raise UnknownJob(self._unknown(name, found))
        new = Registered(
            self.service,
            job.name,
            found.session,
            time.time(),
            entrypoint=job.entrypoint,
            start_s=job.start_s,
        )
        try:
            root = self.resources.folder()
            folder = find_folder(root, self.service, job, found.session) or RayJobFolder.new(
                self.resources, new
            )
            folder.reconsider()
        except OSError as error:
            raise StorageFailed(f"the job {job.name} cannot be recorded: {error}") from error
        return folder.remote_job(new)

    def names(self) -> tuple[str, ...]:
        """See `RemoteJobs`."""
        return tuple(job.name for job in self._ask().jobs if not job.has_ended)

    def _ask(self) -> ListedJobs:
        service = self.service
        found = self.in_helper(ListedJobs, lambda: _ask(service), _LIST_TIMEOUT_S)
        if isinstance(found, Unreachable):
            raise SchedulerUnavailable(found.why)
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
