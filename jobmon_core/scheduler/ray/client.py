"""A Ray cluster as a `Scheduler`: the jobs that jobmon follows there, by jobmon's own numbers."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from jobmon_core.domain.job.restart.model import ProcessesLeft
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, RawAnswer, Unreachable
from jobmon_core.scheduler.ray.records import JobFolder, Reply, Status
from jobmon_core.scheduler.status_row import WithoutAccounting
from jobmon_core.system.helper import Helper, HelperFailed

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon_core.domain.node.health.model import ClusterResources
    from jobmon_core.domain.slurm.log_paths import LogPaths
    from jobmon_core.domain.slurm.rows import RecordAnswer
    from jobmon_core.scheduler.base import BackendResources

_TIMEOUT_S = 120.0  # of one look; each of its requests has a shorter one


class RayScheduler(WithoutAccounting):
    """Shows what the dashboard of one cluster says about the jobs that jobmon follows."""

    name = "ray"

    def __init__(self, resources: BackendResources, service: str) -> None:
        """Set up without any I/O; ``service`` names the cluster."""
        self._resources = resources
        self._service = service

    @property
    def _root(self) -> Path:
        return self._resources.folder()

    def ask_queue(self, user: str) -> RawAnswer | Unreachable:  # noqa: ARG002 - Ray knows no users
        """Look at all jobs that jobmon follows on this cluster, and copy their logs; see `Scheduler`."""
        asked_s, root = time.time(), self._root
        is_known = self._resources.is_known

        def work() -> Reply:
            from jobmon_core.scheduler.ray.poll import poll  # it loads HTTP: only in the helper

            return poll(root, self._service, os.environ, lambda job_id: is_known(JobRef(job_id)))

        try:
            reply = Helper(self._resources.locks).run(Reply, work, _TIMEOUT_S)
        except HelperFailed as error:
            return Unreachable(f"the query of the Ray cluster {self._service} failed: {error}")
        if reply.problem:
            return Unreachable(reply.problem)
        return RawAnswer(reply.text, asked_s)

    def ask_record(self, job_id: int) -> RecordAnswer:
        """Return what the latest look showed of a job; see `Scheduler`. It sends no request."""
        status = self._status(job_id)
        if status.gone_why:
            return NotListed(status.gone_why)
        if status.row is None:
            return NotListed()
        return (status.row.as_record(),)

    def _status(self, job_id: int) -> Status:
        return JobFolder(self._root / str(job_id)).status()

    def ask_log_templates(self, job_id: int) -> LogPaths | None:
        """Return the path of the copy of the driver's log; see `Scheduler`."""
        return JobFolder(self._root / str(job_id)).logs


def cluster_resources(_resources: BackendResources, service: str) -> ClusterResources | Unreachable:
    """Query what a cluster has and what its tasks and actors hold. It loads HTTP: only commands ask."""
    from jobmon_core.scheduler.ray.api import Failed, RayApi

    found = RayApi(service, os.environ).resources()
    if isinstance(found, Failed):
        return Unreachable(found.why)
    return found


def processes_left(
    resources: BackendResources, service: str, number: int, _lineage: str
) -> ProcessesLeft | Unreachable:
    """Query whether the driver and the actors of a job have ended. It loads HTTP: only helpers ask."""
    from jobmon_core.scheduler.ray.api import Failed, RayApi
    from jobmon_core.scheduler.ray.death import death_of

    job, api = JobFolder(resources.folder() / str(number)).registered(), RayApi(service, os.environ)
    entry, version = api.job(job.name) if job else None, api.version()
    if isinstance(entry, Failed) or isinstance(version, Failed):
        return Unreachable(entry.why if isinstance(entry, Failed) else getattr(version, "why", ""))
    if job is None or entry is None or not job.is_entry(entry, version.session):
        return Unreachable(f"Ray does not know the job any more ({service})")
    death = death_of(api, entry)
    if death.proof:
        return ProcessesLeft((), "")
    return Unreachable(death.doubt)
