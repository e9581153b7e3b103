"""Look at a job of a Ray cluster: its status, its step, whether it has stalled since, and how it ended."""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core.analysis.explain import explain
from jobmon_core.analysis.explainer import evidence_of
from jobmon_core.analysis.restarts.decision import LAST_LINES, Submitted, facts_of_end
from jobmon_core.app.patterns import own_pattern_file
from jobmon_core.domain.backends import RAY
from jobmon_core.domain.errors import JobmonError, SchedulerUnavailable, UnknownJob
from jobmon_core.domain.job.restart.ray_attempts import (
    FIELDS,
    LINEAGE_KEY,
    NAME_KEYS,
    Description,
    with_working_dir,
)
from jobmon_core.domain.job.tracking.model import End, Source
from jobmon_core.domain.slurm.states import JobState, Outcome, outcome_of
from jobmon_core.observe.progress.match import FormatMatcher
from jobmon_core.observe.progress.reader import ProgressReader
from jobmon_core.scheduler.json_values import text
from jobmon_core.scheduler.ray.api import PodApi, RayApi
from jobmon_core.scheduler.ray.client import VARIABLES, find_service
from jobmon_core.scheduler.ray.cluster_state import SUPERVISOR
from jobmon_core.scheduler.ray.ray_job import RayFailed, parse_job, read_job
from jobmon_core.scheduler.ray.submission import FOLDER_KEY
from jobmon_core.store.json_file import JsonFile
from jobmon_core.system.lock import lock

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.job.restart.rules import EndFacts
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


_RESOURCES = {"CPU": "entrypoint_num_cpus", "GPU": "entrypoint_num_gpus", "memory": "entrypoint_memory"}
_OF_NODES = "node:"


class FoundJob(NamedTuple):
    """A job of a Ray cluster."""

    entry: RayJob
    session: str  # of the cluster, which a new head changes
    description: Description
    lineage: str  # the id of which it is an attempt, as it says itself


def find_job(api: RayApi, name: str) -> FoundJob | None:
    """Return the job with this submission id, job id, or name in its metadata, if any.

    Of several, it is one that has not ended, else the newest.
    """
    version, listed = api.version(), api.descriptions()
    named = [(job, data) for data in listed if (job := parse_job(data)) and name in _names(job, data)]
    if not named:
        return None
    entry, data = max(named, key=lambda each: (not each[0].has_ended, each[0].start_s or 0))
    lineage = text(data, "metadata", LINEAGE_KEY)
    return FoundJob(entry, version.session, _description(api, entry, data), lineage)


def _names(job: RayJob, data: dict[str, Any]) -> set[str]:
    return {job.submission_id, job.job_id, *(text(data, "metadata", key) for key in NAME_KEYS)} - {""}


def _description(api: RayApi, job: RayJob, data: dict[str, Any]) -> Description:
    description = {key: value for key, value in data.items() if key in FIELDS and value}
    host, _, folder = text(data, "metadata", FOLDER_KEY).partition(":")
    if host == os.uname().nodename and Path(folder).is_dir():
        description = with_working_dir(description, folder)
    return {**description, **_requested(api, job)}


def _requested(api: RayApi, job: RayJob) -> Description:
    actors: list[dict[str, Any]] = []
    with suppress(RayFailed):
        if job.submission_id:
            actors = api.state("actors", name=f"{SUPERVISOR}{job.submission_id}")
    resources = actors[0].get("required_resources") if actors else None
    amounts = dict(resources) if isinstance(resources, dict) else {}
    found = {_RESOURCES[name]: amounts.pop(name) for name in _RESOURCES if name in amounts}
    if others := {name: amount for name, amount in amounts.items() if not name.startswith(_OF_NODES)}:
        found["entrypoint_resources"] = others
    return found


def end_of(
    ctx: Context, cluster: RayCluster, entry: RayJob, proof: str, *, is_stalled: bool
) -> tuple[EndFacts, str, int | None]:
    """Return what a job that has ended and its log show: facts, what happened in few words, the last step."""
    reading = read_job(entry)
    try:
        look = cluster.log(entry.name)
        lines, progress = look.lines, look.progress
    except JobmonError:  # e.g. its node is gone; Ray keeps the last lines in the message
        lines, progress = tuple(entry.message.splitlines()), None
    end = End(
        reading.state,
        entry.status,
        Outcome.UNKNOWN
        if reading.state is JobState.UNKNOWN
        else outcome_of(reading.state, reading.exit_code),
        Source.QUEUE,
        reading.exit_code,
        signal=reading.signal,
        started_s=entry.start_s,
        ended_s=entry.end_s,
        reason=reading.reason,
    )
    with tempfile.NamedTemporaryFile("w", prefix="jobmon-", suffix=".log", errors="replace") as log:
        log.write("\n".join((*lines, "")))
        log.flush()
        diagnosis = explain(evidence_of(end, RAY), log.name, "", own_pattern_file(ctx))
    submitted = Submitted((entry.entrypoint,))
    facts = facts_of_end(end, RAY, diagnosis, work=progress, lines=lines[-LAST_LINES:], submitted=submitted)
    facts = replace(facts, stall_cancelled=is_stalled, proof=proof)
    return facts, diagnosis.headline, None if progress is None else int(progress.current)
