"""A Ray cluster as a `Scheduler`: the jobs that jobmon follows there, by jobmon's own numbers."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import Disabled, NotListed, RawAnswer, Unreachable
from jobmon_core.domain.tracking.policy import NO_HURRY_S
from jobmon_core.scheduler.ray.records import JobFolder, Reply, Status
from jobmon_core.scheduler.status_row import from_answer
from jobmon_core.system.worker import Worker, WorkerFailed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from jobmon_core.domain.health.cluster_resources import ClusterResources
    from jobmon_core.domain.slurm.log_paths import LogPaths
    from jobmon_core.domain.slurm.rows import AccountingRow, QueueRow, RecordAnswer
    from jobmon_core.scheduler.base import BackendResources

_TIMEOUT_S = 120.0  # of one look; each of its requests has a shorter one


class RayScheduler:
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
            reply = Worker(self._resources.locks).run(Reply, work, _TIMEOUT_S)
        except WorkerFailed as error:
            return Unreachable(f"the query of the Ray cluster {self._service} failed: {error}")
        return Unreachable(reply.problem) if reply.problem else RawAnswer(reply.text, asked_s)

    def read_queue(self, text: str, job_ids: Collection[int]) -> tuple[QueueRow, ...]:
        """Parse the rows of these jobs; see `Scheduler`."""
        return tuple(row.as_queue_row() for row in from_answer(text, job_ids))

    def ask_accounting(self, job_ids: Sequence[int], within_s: float = NO_HURRY_S) -> Disabled:  # noqa: ARG002 - Ray keeps no accounts
        """Return `Disabled`."""
        return Disabled()

    def read_accounting(self, text: str, job_id: int) -> tuple[AccountingRow, ...]:  # noqa: ARG002 - see above
        """Return no rows."""
        return ()

    def ask_record(self, job_id: int) -> RecordAnswer:
        """Return what the latest look showed of a job; see `Scheduler`. It sends no request."""
        status = self._status(job_id)
        if status.gone_why:
            return NotListed(status.gone_why)
        return NotListed() if status.row is None else (status.row.as_record(),)

    def _status(self, job_id: int) -> Status:
        return JobFolder(self._root / str(job_id)).status()

    def ask_log_templates(self, job_id: int) -> LogPaths | None:
        """Return the path of the copy of the driver's log; see `Scheduler`."""
        return JobFolder(self._root / str(job_id)).logs

    def script_of(self, job_id: int) -> str:  # noqa: ARG002 - an entrypoint is a command
        """Return an empty text."""
        return ""

    def cluster_name(self) -> str:
        """Return an empty text: each job names its own cluster."""
        return ""


def cluster_resources(service: str) -> ClusterResources | Unreachable:
    """Query what a cluster has and what its tasks and actors hold. It loads HTTP: only commands ask."""
    from jobmon_core.domain.health.pods import read_ray_status
    from jobmon_core.scheduler.ray.api import Failed, RayApi

    text = RayApi(service, os.environ).cluster_status()  # what `ray status` prints
    if isinstance(text, Failed):
        return Unreachable(text.why)
    return read_ray_status(text) or Unreachable("the dashboard shows no resources of the cluster")
