"""Look at a job of a Ray cluster: its status, its step, what it uses, and whether it has stalled since."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.errors import SchedulerUnavailable, UnknownJob
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.observe.progress.match import FormatMatcher
from jobmon_core.observe.progress.reader import ProgressReader
from jobmon_core.scheduler.ray.api import PodApi, RayApi
from jobmon_core.scheduler.ray.client import VARIABLES, find_service
from jobmon_core.scheduler.ray.ray_job import RayFailed, read_job
from jobmon_core.store.json_file import JsonFile
from jobmon_core.system.lock import lock

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.logs.progress.model import Progress
    from jobmon_core.domain.node.health.model import ClusterResources
    from jobmon_core.scheduler.ray.ray_job import RayJob

_LINES = 2_000
_KEPT_S = 7 * 86_400.0  # what was seen of a job, also by other processes
_MAX_BYTES = 4 << 20
_PAUSES = 3.0  # times the longest pause so far: a run that saves for ten minutes is not stalled after eleven
_NEW_RUN = 0.9  # of the step before: a lower step means a new run


class RayStatus(StrEnum):
    """Ray's own words, and UNKNOWN if jobmon cannot tell."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    STOPPED = "STOPPED"
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


class RayJobStatus(NamedTuple):
    """How a job is."""

    status: RayStatus
    is_over: bool
    why: str = ""


class LogLook(NamedTuple):
    """What the end of a job's log shows."""

    progress: Progress | None
    fingerprint: str  # changes when something is written
    lines: tuple[str, ...] = ()

    @property
    def step(self) -> int | None:
        """The latest one."""
        if self.progress is None:
            return None
        return int(self.progress.current)


@dataclass(frozen=True, slots=True)
class RayCluster:
    """One cluster, reached by the address of its dashboard or through its head pod."""

    api: RayApi

    @classmethod
    def open(cls, ctx: Context, head: str, namespace: str) -> RayCluster:
        """Return the cluster that ``head`` names: the address of its dashboard, or its head pod. Ask nothing.

        A dashboard that one of Ray's variables names (RAY_API_SERVER_ADDRESS, RAY_ADDRESS) replaces the pod.
        """
        is_address = "://" in head or ":" in head
        if is_address or any(ctx.environment.get(name, "").strip() for name in VARIABLES):
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

    def status(self, job_id: str) -> RayJobStatus:
        """UNKNOWN if Ray does not answer."""
        try:
            job = self._job(job_id)
        except RayFailed as error:
            return RayJobStatus(RayStatus.UNKNOWN, is_over=False, why=str(error))
        reading = read_job(job)
        status = _STATUSES.get(reading.state, RayStatus.UNKNOWN)
        why = reading.ended_unknown_why or (reading.reason if status is RayStatus.UNKNOWN else "")
        return RayJobStatus(status, status in _ENDS or bool(reading.ended_unknown_why), why)

    def log(self, job_id: str) -> LogLook:
        """What its end shows."""
        job, version, tail = self._job(job_id), self.api.version(), b""
        try:
            if job.log_name:
                tail, _ = self.api.log_tail(job, _LINES, version.release)
        except RayFailed as error:
            raise SchedulerUnavailable(f"the log of {job_id} cannot be read now: {error}") from error
        reader = ProgressReader(FormatMatcher.with_patterns({}))
        reader.feed(tail + b"\n")
        lines = tuple(tail.decode("utf-8", "replace").splitlines())
        return LogLook(reader.progress, hashlib.sha256(tail).hexdigest()[:16], lines)

    def resources(self) -> ClusterResources:
        """And what its tasks hold."""
        return self.api.resources()

    def _job(self, job_id: str) -> RayJob:
        job = self.api.job(job_id)
        if job is None:
            raise UnknownJob(
                f"Ray has no job {job_id} on the cluster {self.name}; `ray job list` lists its jobs"
            )
        return job


def is_stalled(ctx: Context, cluster: RayCluster, job_id: str, seen: LogLook, threshold_s: float) -> bool:
    """Remember what a running job's log shows now; return whether it has stalled since earlier looks."""
    key, now_s = f"{cluster.name}/{job_id}", ctx.clock.now()
    file = JsonFile(ctx.home.monitors / "ray-looks.json", Memories, _MAX_BYTES, durable=False)
    with lock(file.lock_path):
        jobs = {
            name: each for name, each in file.read_to_change().jobs.items() if now_s - each.seen_s < _KEPT_S
        }
        memory, stalled = look(jobs.get(key), seen.step, seen.fingerprint, now_s, threshold_s)
        file.write(replace(Memories(), jobs={**jobs, key: memory}))
    return stalled


@dataclass(frozen=True, slots=True)
class Memory:
    """What the looks so far have seen of a job. Times are Unix seconds."""

    step: float | None = None
    step_s: float = 0.0  # when the step was last seen to advance
    longest_pause_s: float = 0.0  # between two advances
    log: str = ""  # a fingerprint of the end of its log
    log_s: float = 0.0  # when the log was last seen to change
    seen_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Memories:
    """By cluster and id."""

    jobs: dict[str, Memory] = field(default_factory=dict)


def look(
    before: Memory | None, step: float | None, log: str, now_s: float, threshold_s: float
) -> tuple[Memory, bool]:
    """Return the memory after a look at a running job, and whether the job is stalled.

    It is if neither its step nor its log has changed for ``threshold_s`` seconds, and for three times its
    longest pause so far: long steps are no stall. The first look at a run never finds one.
    """
    if before is None or (step is not None and before.step is not None and step < _NEW_RUN * before.step):
        return Memory(step, now_s, 0.0, log, now_s, now_s), False
    memory = replace(before, seen_s=now_s)
    if step is not None and (before.step is None or step > before.step):
        pause_s = 0.0 if before.step is None else now_s - before.step_s
        memory = replace(
            memory, step=step, step_s=now_s, longest_pause_s=max(before.longest_pause_s, pause_s)
        )
    if log != before.log:
        memory = replace(memory, log=log, log_s=now_s)
    quiet_s = now_s - max(memory.step_s, memory.log_s)
    return memory, quiet_s >= max(threshold_s, _PAUSES * memory.longest_pause_s)
