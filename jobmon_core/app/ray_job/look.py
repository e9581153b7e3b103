"""Look once at a job of a Ray cluster: its status, its step, and what it uses."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.errors import SchedulerUnavailable, UnknownJob
from jobmon_core.domain.health.pods import read_ray_status
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.observe.progress.match import FormatMatcher
from jobmon_core.observe.progress.reader import ProgressReader
from jobmon_core.scheduler.ray.address import find_service
from jobmon_core.scheduler.ray.api import Failed, RayApi
from jobmon_core.scheduler.ray.pods.kubectl import PodApi
from jobmon_core.scheduler.ray.ray_job import read_job

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.health.cluster_resources import ClusterResources
    from jobmon_core.domain.progress.model import Progress
    from jobmon_core.scheduler.ray.ray_job import RayJob

_LINES = 2_000  # of the end of a driver's log
_MAX_BYTES = 4 << 20
_VARIABLES = ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS")


class RayStatus(StrEnum):
    """Ray's own words, and UNKNOWN if jobmon cannot tell whether the job runs or how it ended."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    STOPPED = "STOPPED"  # by a user
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"


_STATUSES = {
    JobState.PENDING: RayStatus.PENDING,
    JobState.RUNNING: RayStatus.RUNNING,
    JobState.CANCELLED: RayStatus.STOPPED,
    JobState.COMPLETED: RayStatus.SUCCEEDED,
    JobState.FAILED: RayStatus.FAILED,
}
_ENDS = (RayStatus.STOPPED, RayStatus.SUCCEEDED, RayStatus.FAILED)


class Status(NamedTuple):
    """How a job is."""

    status: RayStatus
    is_over: bool
    why: str = ""  # why it is UNKNOWN


class LogLook(NamedTuple):
    """What the end of a job's log shows."""

    progress: Progress | None
    fingerprint: str  # changes when something is written
    lines: tuple[str, ...] = ()

    @property
    def step(self) -> int | None:
        """The latest step; None if the log counts none."""
        return None if self.progress is None else int(self.progress.current)


@dataclass(frozen=True, slots=True)
class RayCluster:
    """One cluster, reached by the address of its dashboard or through its head pod."""

    api: RayApi

    @classmethod
    def open(cls, ctx: Context, head: str, namespace: str) -> RayCluster:
        """Return the cluster that ``head`` names: the address of its dashboard, or its head pod. Ask nothing.

        If one of Ray's variables (RAY_API_SERVER_ADDRESS, RAY_ADDRESS) is set, the dashboard that it names is
        used in place of the pod.

        Raises:
            SchedulerRejected: it is not the address of a dashboard.
        """
        is_address = "://" in head or ":" in head
        if is_address or any(ctx.environment.get(name, "").strip() for name in _VARIABLES):
            return cls(RayApi(find_service(head if is_address else "", ctx.environment), ctx.environment))
        return cls(PodApi(f"of pod {head}", ctx.environment, head, namespace))

    @property
    def name(self) -> str:
        """The cluster in texts and as a key."""
        return self.api.service

    @property
    def is_pod(self) -> bool:
        """Whether it is reached through its head pod."""
        return isinstance(self.api, PodApi)

    def status(self, job_id: str) -> Status:
        """Return how a job is; UNKNOWN if Ray does not answer.

        Raises:
            UnknownJob: Ray answers that it has no such job.
        """
        job = self._job(job_id)
        if isinstance(job, Failed):
            return Status(RayStatus.UNKNOWN, is_over=False, why=job.why)
        reading = read_job(job)
        status = _STATUSES.get(reading.state, RayStatus.UNKNOWN)
        why = reading.ended_unknown_why or (reading.reason if status is RayStatus.UNKNOWN else "")
        return Status(status, status in _ENDS or bool(reading.ended_unknown_why), why)

    def log(self, job_id: str) -> LogLook:
        """Return what the end of a job's log shows.

        Raises:
            UnknownJob: Ray answers that it has no such job.
            SchedulerUnavailable: Ray does not answer.
        """
        job = self._job(job_id)
        version = self.api.version()
        if isinstance(job, Failed) or isinstance(version, Failed):
            failed = job if isinstance(job, Failed) else version
            raise SchedulerUnavailable(failed.why if isinstance(failed, Failed) else "")
        tail = self.api.log_tail(job, _LINES, _MAX_BYTES, version.release) if job.log_name else b""
        if isinstance(tail, Failed):
            raise SchedulerUnavailable(f"the log of {job_id} cannot be read now: {tail.why}")
        reader = ProgressReader(FormatMatcher.with_patterns({}))
        reader.feed(tail + b"\n")
        lines = tuple(tail.decode("utf-8", "replace").splitlines())
        return LogLook(reader.progress, hashlib.sha256(tail).hexdigest()[:16], lines)

    def resources(self) -> ClusterResources:
        """Return what the cluster has and what its tasks hold.

        Raises:
            SchedulerUnavailable: Ray does not answer, or its answer does not say it.
        """
        text = self.api.cluster_status()
        if isinstance(text, Failed):
            raise SchedulerUnavailable(text.why)
        found = read_ray_status(text)
        if found is None:
            raise SchedulerUnavailable(f"the Ray cluster {self.name} does not say what resources it has")
        return found

    def _job(self, job_id: str) -> RayJob | Failed:
        job = self.api.job(job_id)
        if job is None:
            raise UnknownJob(
                f"Ray has no job {job_id} on the cluster {self.name}; `ray job list` lists its jobs"
            )
        return job
