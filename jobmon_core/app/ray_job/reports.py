"""The dictionaries of `jobmon.ray_compat`, and how they are made."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypedDict

from jobmon_core.app.artifacts.checkpoints import checkpoints_in
from jobmon_core.app.ray_job.pods import pod_folder, pod_gpus, pod_nccl_lines
from jobmon_core.domain.artifacts.checkpoints.recognize import step_of
from jobmon_core.domain.errors import JobmonError, SchedulerUnavailable
from jobmon_core.domain.health.network.judge import NetworkFacts, network_verdict
from jobmon_core.domain.health.network.model import NetworkState
from jobmon_core.domain.health.network.nccl_lines import read_nccl
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.ray.gpus import parse_node_gpus
from jobmon_core.scheduler.ray.api import Failed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon_core.app.ray_job.look import RayCluster
    from jobmon_core.context import Context
    from jobmon_core.domain.telemetry.nvidia_smi import SmiGpu, SmiProcess

_MIB = 2**20
_IDLE_PERCENT = 5.0


class GpuProcess(TypedDict):
    """A process on a GPU."""

    pid: int
    name: str
    gpu_uuid: str
    memory_used: float | None  # MB


class GpuInfo(TypedDict):
    """The GPUs of a pod, of several pods, or of a cluster."""

    gpu_count: int
    gpu_utilizations: list[float | None]  # percent; None if the driver does not say
    memory_used: list[float | None]  # MB
    memory_total: list[float | None]  # MB
    processes: list[GpuProcess]
    avg_utilization: float  # percent, over the GPUs that say it; 0.0 if none does
    healthy: bool  # whether the check itself succeeded
    error: str  # why not


class ResourceInfo(TypedDict):
    """What a Ray cluster has and what its tasks hold. A held GPU may be idle."""

    gpus_available: float  # all of the cluster
    gpus_used: float
    cpus_available: float
    cpus_used: float
    waiting: list[str]  # what cannot be placed yet
    healthy: bool  # whether the check itself succeeded
    error: str  # why not


class EfaInfo(TypedDict):
    """Which network NCCL uses."""

    efa_active: bool
    transport: str  # e.g. EFA, InfiniBand, TCP sockets, or UNKNOWN
    verdict: str  # OK, DEGRADED, FALLBACK, UNKNOWN or NOT APPLICABLE
    text: str  # why
    evidence: list[str]
    advice: str  # what to do, or to set in order to know more
    healthy: bool  # whether the check itself succeeded
    error: str  # why not


class CheckpointInfo(TypedDict):
    """The checkpoints of a folder."""

    latest_step: int | None
    latest: str  # its name; empty without one
    count: int
    age_s: float | None  # of the latest one
    healthy: bool  # whether the check itself succeeded
    error: str  # why not


class HealthReport(TypedDict):
    """Everything in one report."""

    healthy: bool  # whether there are no issues
    issues: list[str]
    gpu: GpuInfo  # of all pods
    pods: dict[str, GpuInfo]
    ray: ResourceInfo
    efa: EfaInfo
    checkpoints: CheckpointInfo | None  # None without a folder


def gpu_info(cluster: RayCluster, pod: str, namespace: str) -> GpuInfo:
    """Return the GPUs of a pod; of a cluster that is known by its address, those of all nodes."""
    try:
        if cluster.is_pod:
            found = pod_gpus(pod, namespace)
            return _gpu_info(found.gpus, found.processes)
        entries = cluster.api.gpus()
        if isinstance(entries, Failed):
            return _gpu_info((), (), entries.why)
        return _gpu_info(*parse_node_gpus(entries))
    except SchedulerUnavailable as error:
        return _gpu_info((), (), str(error))


def _gpu_info(gpus: Sequence[SmiGpu], processes: Sequence[SmiProcess], error: str = "") -> GpuInfo:
    known = [gpu.utilization_percent for gpu in gpus if gpu.utilization_percent is not None]
    return GpuInfo(
        gpu_count=len(gpus),
        gpu_utilizations=[gpu.utilization_percent for gpu in gpus],
        memory_used=[_megabytes(gpu.memory_bytes) for gpu in gpus],
        memory_total=[_megabytes(gpu.memory_total_bytes) for gpu in gpus],
        processes=[
            GpuProcess(
                pid=each.pid,
                name=each.name,
                gpu_uuid=each.gpu_uuid,
                memory_used=_megabytes(each.memory_bytes),
            )
            for each in processes
        ],
        avg_utilization=sum(known) / len(known) if known else 0.0,
        healthy=not error,
        error=error,
    )


def merged_gpus(pods: Iterable[GpuInfo]) -> GpuInfo:
    """Return the GPUs of several pods as one list."""
    parts = list(pods)
    known = [each for part in parts for each in part["gpu_utilizations"] if each is not None]
    return GpuInfo(
        gpu_count=sum(part["gpu_count"] for part in parts),
        gpu_utilizations=[each for part in parts for each in part["gpu_utilizations"]],
        memory_used=[each for part in parts for each in part["memory_used"]],
        memory_total=[each for part in parts for each in part["memory_total"]],
        processes=[each for part in parts for each in part["processes"]],
        avg_utilization=sum(known) / len(known) if known else 0.0,
        healthy=all(part["healthy"] for part in parts),
        error="; ".join(part["error"] for part in parts if part["error"]),
    )


def _megabytes(size: int | None) -> float | None:
    return None if size is None else size / _MIB


def resource_info(cluster: RayCluster) -> ResourceInfo:
    """Return what the cluster has and what its tasks hold."""
    try:
        found = cluster.resources()
    except SchedulerUnavailable as error:
        return ResourceInfo(
            gpus_available=0.0,
            gpus_used=0.0,
            cpus_available=0.0,
            cpus_used=0.0,
            waiting=[],
            healthy=False,
            error=str(error),
        )
    return ResourceInfo(
        gpus_available=found.gpus or 0.0,
        gpus_used=found.gpus_held or 0.0,
        cpus_available=found.cpus or 0.0,
        cpus_used=found.cpus_held or 0.0,
        waiting=list(found.waiting),
        healthy=True,
        error="",
    )


def efa_info(
    cluster: RayCluster, pods: Sequence[str], namespace: str, job_id: str = "", nodes: int | None = None
) -> EfaInfo:
    """Return which network NCCL uses, by its own lines in the logs of the pods, or of a job."""
    lines: list[str] = []
    try:
        if cluster.is_pod:
            for pod in pods:
                lines += pod_nccl_lines(pod, namespace)
        if job_id:
            lines += cluster.log(job_id).lines
    except JobmonError as error:
        if not lines:
            return _efa_info(NetworkFacts(nodes=nodes, unread=str(error)), str(error))
    return _efa_info(NetworkFacts(nodes=nodes, nccl=read_nccl(lines)))


def _efa_info(facts: NetworkFacts, error: str = "") -> EfaInfo:
    found = network_verdict(facts)
    is_efa = found.transport.upper() == "EFA"
    return EfaInfo(
        efa_active=is_efa and found.state in (NetworkState.OK, NetworkState.DEGRADED),
        transport=found.transport or "UNKNOWN",
        verdict=found.state.value,
        text=found.text,
        evidence=list(found.evidence),
        advice=found.advice,
        healthy=not error,
        error=error,
    )


def checkpoint_info(
    ctx: Context, cluster: RayCluster, folder: str, pod: str, namespace: str
) -> CheckpointInfo:
    """Return the checkpoints of a folder of this host; if it has none such, of the pod."""
    found = checkpoints_in(ctx, folder).found
    if not found.problem:
        newest = found.newest_complete
        return CheckpointInfo(
            latest_step=newest.step if newest else None,
            latest=newest.path.rpartition("/")[2] if newest else "",
            count=len(found.checkpoints),
            age_s=max(0.0, ctx.clock.now() - newest.saved_s) if newest else None,
            healthy=True,
            error="",
        )
    names: tuple[str, ...] = ()
    error = found.problem
    if cluster.is_pod:
        with suppress(SchedulerUnavailable):
            names, error = pod_folder(pod, namespace, folder), ""
    steps = {step: name for name in names if (step := step_of(name)) is not None}
    latest = max(steps, default=None)
    return CheckpointInfo(
        latest_step=latest,
        latest="" if latest is None else steps[latest],
        count=len(steps),
        age_s=None,
        healthy=not error,
        error=f"{folder}: {error}" if error else "",
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
            f"GPUs are held but idle: {gpu['gpu_count']} GPUs, {gpu['avg_utilization']:.0f} % busy on average"
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
