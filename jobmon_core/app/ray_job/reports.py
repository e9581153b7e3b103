"""The dictionaries of `jobmon.ray_compat`, and how they are made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

from jobmon_core.app.health.collect import ask_each, network_of
from jobmon_core.app.jobs.artifacts import checkpoints_in
from jobmon_core.app.ray_job.look import log_of
from jobmon_core.domain.artifacts.model import Checkpoints, ListedFile
from jobmon_core.domain.errors import JobmonError, SchedulerUnavailable
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.node.health.model import ClusterResources, NetworkState
from jobmon_core.domain.node.health.nccl import read_nccl
from jobmon_core.domain.node.health.network import network_verdict
from jobmon_core.domain.node.health.pods import PodAnswer, parse_node_gpus
from jobmon_core.scheduler.ray.api import PodApi, check_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon_core.app.ray_job.look import RayCluster
    from jobmon_core.context import Context
    from jobmon_core.domain.finding import Finding

_MIB = 2**20
_IDLE_PERCENT = 5.0


class GpuProcess(TypedDict):
    """A process on a GPU."""

    pid: int
    name: str
    gpu_uuid: str
    memory_used: float | None  # MiB


class GpuInfo(TypedDict):
    """The GPUs of a pod, of several pods, or of a cluster."""

    gpu_count: int
    gpu_utilizations: list[float | None]
    memory_used: list[float | None]
    memory_total: list[float | None]
    processes: list[GpuProcess]
    avg_utilization: float  # percent, over the GPUs that say it; 0.0 if none does
    healthy: bool
    error: str


class ResourceInfo(TypedDict):
    """What a Ray cluster has and what its tasks hold: whole numbers, or parts. A held GPU may be idle."""

    gpus_available: float  # all of the cluster
    gpus_used: float
    cpus_available: float
    cpus_used: float
    waiting: list[str]  # what cannot be placed yet
    healthy: bool
    error: str


class EfaInfo(TypedDict):
    """Which network NCCL uses."""

    efa_active: bool
    transport: str
    verdict: str  # OK, DEGRADED, FALLBACK, UNKNOWN or NOT APPLICABLE
    text: str
    evidence: list[str]
    advice: str  # what to do, or to set in order to know more
    healthy: bool
    error: str


class CheckpointInfo(TypedDict):
    """The checkpoints of a folder."""

    latest_step: int | None
    latest: str  # its name
    count: int
    age_s: float | None
    healthy: bool
    error: str


class HealthReport(TypedDict):
    """Everything in one report."""

    healthy: bool
    issues: list[str]
    gpu: GpuInfo
    pods: dict[str, GpuInfo]
    ray: ResourceInfo
    efa: EfaInfo
    checkpoints: CheckpointInfo | None


def pod_answers(
    cluster: RayCluster, pods: Sequence[str], folder: str = ""
) -> dict[str, PodAnswer | JobmonError]:
    """Ask pods what they show, also of a folder of checkpoints; none of a cluster known by its address."""
    if not isinstance(cluster, PodApi):
        return {}
    check_names(cluster.namespace, *pods)
    return ask_each(pods, cluster.namespace, folder)


def look_at_gpus(cluster: RayCluster, pod: str) -> PodAnswer | JobmonError:
    """Return the GPUs of a pod; of a cluster that is known by its address, those of all nodes."""
    if answers := pod_answers(cluster, [pod]):
        return answers[pod]
    try:
        return PodAnswer(pod, *parse_node_gpus(cluster.gpus()))
    except SchedulerUnavailable as error:
        return error


def gpu_info(*answers: PodAnswer | JobmonError) -> GpuInfo:
    """Return the GPUs of one pod or cluster, or of several pods as one list."""
    found = [answer for answer in answers if isinstance(answer, PodAnswer)]
    gpus = [gpu for answer in found for gpu in answer.gpus]
    known = [gpu.utilization_percent for gpu in gpus if gpu.utilization_percent is not None]
    error = "; ".join(filter(None, map(_why_no_gpus, answers)))
    return GpuInfo(
        gpu_count=len(gpus),
        gpu_utilizations=[gpu.utilization_percent for gpu in gpus],
        memory_used=[_mebibytes(gpu.memory) for gpu in gpus],
        memory_total=[_mebibytes(gpu.memory_total) for gpu in gpus],
        processes=[
            GpuProcess(
                pid=each.pid, name=each.name, gpu_uuid=each.gpu_uuid, memory_used=_mebibytes(each.memory)
            )
            for answer in found
            for each in answer.processes
        ],
        avg_utilization=sum(known) / max(1, len(known)),
        healthy=not error,
        error=error,
    )


def _why_no_gpus(answer: PodAnswer | JobmonError) -> str:
    if isinstance(answer, JobmonError):
        return str(answer)
    return "" if answer.gpus else "; ".join(answer.problems)


def _mebibytes(size: int | None) -> float | None:
    if size is None:
        return None
    return size / _MIB


def resource_info(cluster: RayCluster) -> ResourceInfo:
    """Return what the cluster has and what its tasks hold."""
    found, error = ClusterResources(), ""
    try:
        found = cluster.resources()
    except SchedulerUnavailable as problem:
        error = str(problem)
    return ResourceInfo(
        gpus_available=_amount(found.gpus),
        gpus_used=_amount(found.gpus_held),
        cpus_available=_amount(found.cpus),
        cpus_used=_amount(found.cpus_held),
        waiting=list(found.waiting),
        healthy=not error,
        error=error,
    )


def _amount(value: float | None) -> float:
    if (value or 0.0).is_integer():
        return int(value or 0)
    return value or 0


def efa_info(
    cluster: RayCluster,
    answers: Iterable[PodAnswer | JobmonError],
    job_id: str = "",
    nodes: int | None = None,
) -> EfaInfo:
    """Return which network NCCL uses, by its own lines in the logs of pods, and of a job."""
    found = [each for each in answers if isinstance(each, PodAnswer)]
    error = next((str(each) for each in answers if isinstance(each, JobmonError)), "")
    if job_id:
        try:
            found.append(PodAnswer(job_id, nccl=read_nccl(log_of(cluster, job_id).lines)))
        except JobmonError as problem:
            error = error or str(problem)
    if not found:
        return _efa_info(network_verdict(nodes, unread=error), error)
    return _efa_info(network_of(found, nodes))


def _efa_info(found: Finding, error: str = "") -> EfaInfo:
    is_efa = found.title.upper() == "EFA"
    return EfaInfo(
        efa_active=is_efa and found.id in (NetworkState.OK, NetworkState.DEGRADED),
        transport=found.title or "UNKNOWN",
        verdict=str(found.id),
        text=found.text,
        evidence=list(found.evidence),
        advice=found.advice,
        healthy=not error,
        error=error,
    )


def checkpoint_info(ctx: Context, folder: str, answer: PodAnswer | JobmonError | None) -> CheckpointInfo:
    """Return the checkpoints of a folder; if this host cannot read it, those that a pod found there."""
    found = checkpoints_in(ctx, folder).found
    newest, there, error = found.newest_complete, Checkpoints(folder, len(found.checkpoints)), ""
    if newest:
        saved = ListedFile(newest.path.rpartition("/")[2], modified_s=newest.saved_s)
        there = replace(there, newest=saved, step=newest.step)
    if found.problem and isinstance(answer, PodAnswer) and answer.checkpoints:
        there = answer.checkpoints
        error = ""
        if there.problem:
            error = f"{folder} in the pod {answer.pod}: {there.problem}"
    elif found.problem:
        error = f"{folder}: {found.problem}"
    return CheckpointInfo(
        latest_step=there.step,
        latest=there.name,
        count=there.count,
        age_s=there.age_s(ctx.clock.now()),
        healthy=not error,
        error=error,
    )


def issues_of(report: HealthReport) -> list[str]:
    """Return what is wrong, by a report without its issues."""
    gpu, ray, efa, saved = report["gpu"], report["ray"], report["efa"], report["checkpoints"]
    found = [f"the GPUs could not be checked: {gpu['error']}"] if not gpu["healthy"] else []
    if not ray["healthy"]:
        found.append(f"the resources of Ray could not be checked: {ray['error']}")
    elif ray["gpus_available"] and not ray["gpus_used"]:
        found.append(f"GPUs available but not being used: no task holds any of {ray['gpus_available']:g}")
    elif any(each is not None for each in gpu["gpu_utilizations"]) and gpu["avg_utilization"] < _IDLE_PERCENT:
        found.append(
            f"GPUs are held but idle: {gpu['gpu_count']} GPUs, {gpu['avg_utilization']:.0f}% busy on average"
        )
    found += [f"cannot be placed: {each}" for each in ray["waiting"]]
    if not efa["healthy"]:
        found.append(f"the network could not be checked: {efa['error']}")
    elif efa["verdict"] in ("DEGRADED", "FALLBACK"):
        found.append(f"slow network: {efa['text']}")
    if saved is not None and not saved["healthy"]:
        found.append(f"the checkpoints could not be checked: {saved['error']}")
    elif saved is not None and not saved["count"]:
        found.append("there is no checkpoint yet")
    return found


def checkpoint_text(saved: CheckpointInfo) -> str:
    """Return the latest checkpoint in a few words."""
    if saved["latest_step"] is None:
        return saved["error"] or "none"
    age = "" if saved["age_s"] is None else f", {duration(saved['age_s'])} old"
    return f"step {saved['latest_step']} ({saved['latest']}{age}), {saved['count']} in all"
