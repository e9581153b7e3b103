"""Look at a job of a Ray cluster: its status, its step, whether it has stalled since, and how it ended."""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field, replace
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
from jobmon_core.domain.logs.progress.history import add_sample
from jobmon_core.domain.logs.progress.model import History, Progress, Sample
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
    from jobmon_core.scheduler.ray.ray_job import RayJob

_LINES = 2_000
_KEPT_S = 7 * 86_400.0  # what was seen of a job, also by other processes
_MAX_BYTES = 4 << 20
_PAUSES = 3.0  # times the longest pause so far: a run that saves for ten minutes is not stalled after eleven
_NO_HISTORY = History()
UNKNOWN = "UNKNOWN"  # besides Ray's own words for the status of a job


RayCluster = RayApi  # for callers that import no adapter


class RayJobStatus(NamedTuple):
    """How a job is."""

    status: str  # Ray's own word, or UNKNOWN if that proves nothing
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


def open_cluster(ctx: Context, head: str, namespace: str) -> RayCluster:
    """Return the cluster that ``head`` names: the address of its dashboard, or its head pod. Ask nothing.

    A dashboard that one of Ray's variables names (RAY_API_SERVER_ADDRESS, RAY_ADDRESS) replaces the pod.
    """
    is_address = ":" in head
    if is_address or any(ctx.environment.get(name, "").strip() for name in VARIABLES):
        return RayApi(find_service(head if is_address else "", ctx.environment), ctx.environment)
    return PodApi(f"of pod {head}", ctx.environment, head, namespace)


def unknown(cluster: RayCluster, name: str) -> str:
    """Return that a cluster has no such job."""
    return f"Ray has no job {name} on the cluster {cluster.service}; `ray job list` lists its jobs"


def known_job(cluster: RayCluster, name: str) -> RayJob:
    """Return a job; raise UnknownJob if there is none."""
    if job := cluster.job(name):
        return job
    raise UnknownJob(unknown(cluster, name))


def status_of(cluster: RayCluster, name: str) -> RayJobStatus:
    """Return the status of a job; UNKNOWN also if Ray does not answer, or does not have it."""
    try:
        job = known_job(cluster, name)
    except (RayFailed, UnknownJob) as error:
        return RayJobStatus(UNKNOWN, isinstance(error, UnknownJob), str(error))
    reading = read_job(job)
    if reading.state is JobState.UNKNOWN:
        why = reading.ended_unknown_why or reading.reason
        return RayJobStatus(UNKNOWN, bool(reading.ended_unknown_why), why)
    return RayJobStatus("FAILED" if reading.state is JobState.FAILED else job.status, job.has_ended)


def log_of(cluster: RayCluster, name: str) -> LogLook:
    """Return what the end of a job's log shows; raise UnknownJob or SchedulerUnavailable."""
    job, tail = known_job(cluster, name), b""
    try:
        if job.log_name:
            tail, _ = cluster.log_tail(job, _LINES, cluster.version().release)
    except RayFailed as error:
        raise SchedulerUnavailable(f"the log of {name} cannot be read now: {error}") from error
    reader = ProgressReader(FormatMatcher.with_patterns({}))
    reader.feed(tail + b"\n")
    lines = tuple(tail.decode("utf-8", "replace").splitlines())
    return LogLook(reader.progress, hashlib.sha256(tail).hexdigest()[:16], lines)


def is_stalled(ctx: Context, cluster: RayCluster, job_id: str, seen: LogLook, threshold_s: float) -> bool:
    """Remember what a running job's log shows now; return whether it has stalled since earlier looks."""
    key, now_s = f"{cluster.service}/{job_id}", ctx.clock.now()
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

    history: History = _NO_HISTORY  # its latest sample
    log: str = ""  # a fingerprint of the end of its log
    log_s: float = 0.0  # when the log was last seen to change
    seen_s: float = 0.0

    @staticmethod
    def upgraded(data: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON of a version before 0.10 as this one writes it."""
        if data.get("step") is None:
            return data
        samples = [{"at_s": data["step_s"], "current": data["step"]}]
        return {**data, "history": {"samples": samples, "longest_pause_s": data.get("longest_pause_s", 0.0)}}


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
    known = before or Memory()
    history = known.history if step is None else add_sample(known.history, Sample(now_s, step))
    log_s = known.log_s if log == known.log else now_s
    moved_s = max(log_s, max((sample.at_s for sample in history.samples), default=0.0))
    memory = Memory(replace(history, samples=history.samples[-1:]), log, log_s, now_s)
    is_quiet = now_s - moved_s >= max(threshold_s, _PAUSES * history.longest_pause_s)
    return memory, is_quiet and before is not None


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
        look = log_of(cluster, entry.name)
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
