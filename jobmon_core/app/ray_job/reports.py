"""The dictionaries of `jobmon.ray_compat`, and how they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from jobmon_core.app.artifacts.checkpoints import checkpoints_in
from jobmon_core.domain.errors import JobmonError, SchedulerUnavailable
from jobmon_core.domain.health.network.counters import NodeFabric
from jobmon_core.domain.health.network.judge import NetworkFacts, network_verdict
from jobmon_core.domain.health.network.model import NetworkState
from jobmon_core.domain.health.network.nccl_lines import read_nccl
from jobmon_core.domain.health.pods import PodAnswer, merged_lines
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.ray.gpus import parse_node_gpus
from jobmon_core.domain.telemetry.fabric import Fabric
from jobmon_core.observe.pods.kubectl import ask_pod
from jobmon_core.scheduler.ray.api import Failed
from jobmon_core.scheduler.ray.pods.kubectl import check_names
from jobmon_core.system.runner import MAX_POD_BYTES, Runner

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon_core.app.ray_job.look import RayCluster
    from jobmon_core.context import Context
    from jobmon_core.domain.health.pods import GpuProcess as PodProcess
    from jobmon_core.domain.telemetry.model import Gpu

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
    gpu_utilizations: list[float | None]  # percent; None if the driver does not say
    memory_used: list[float | None]  # MiB
    memory_total: list[float | None]  # MiB
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


def pod_answers(pods: Sequence[str], namespace: str, folder: str = "") -> dict[str, PodAnswer | JobmonError]:
    """Ask pods what they show; ``folder`` is a folder of checkpoints, as the first pod sees it."""
    check_names(namespace, *pods)
    found: dict[str, PodAnswer | JobmonError] = {}
    for pod in pods:
        try:
            found[pod] = ask_pod(
                Runner(max_bytes=MAX_POD_BYTES), pod, namespace, checkpoint_folder="" if found else folder
            )
        except JobmonError as error:
            found[pod] = error
    return found


def gpu_info(cluster: RayCluster, pod: str, namespace: str) -> GpuInfo:
    """Return the GPUs of a pod; of a cluster that is known by its address, those of all nodes."""
    if cluster.is_pod:
        return pod_gpus(pod_answers([pod], namespace)[pod])
    entries = cluster.api.gpus()
    return (
        _gpu_info((), (), entries.why)
        if isinstance(entries, Failed)
        else _gpu_info(*parse_node_gpus(entries))
    )


def pod_gpus(answer: PodAnswer | JobmonError) -> GpuInfo:
    """Return the GPUs of a pod, by its answer."""
    if isinstance(answer, JobmonError):
        return _gpu_info((), (), str(answer))
    error = "" if answer.gpus else "; ".join(answer.problems)
    return _gpu_info(answer.gpus, answer.processes, error)


def _gpu_info(gpus: Sequence[Gpu], processes: Sequence[PodProcess], error: str = "") -> GpuInfo:
    known = [gpu.utilization_percent for gpu in gpus if gpu.utilization_percent is not None]
    return GpuInfo(
        gpu_count=len(gpus),
        gpu_utilizations=[gpu.utilization_percent for gpu in gpus],
        memory_used=[_mebibytes(gpu.memory) for gpu in gpus],
        memory_total=[_mebibytes(gpu.memory_total) for gpu in gpus],
        processes=[
            GpuProcess(
                pid=each.pid,
                name=each.name,
                gpu_uuid=each.gpu_uuid,
                memory_used=_mebibytes(each.memory),
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


def _mebibytes(size: int | None) -> float | None:
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
            found.append(PodAnswer(job_id, nccl=read_nccl(cluster.log(job_id).lines)))
        except JobmonError as problem:
            error = error or str(problem)
    if not found:
        return _efa_info(NetworkFacts(nodes=nodes, unread=error), error)
    fabrics = [NodeFabric(each.pod, Fabric(each.ports), is_exclusive=False) for each in found if each.ports]
    return _efa_info(NetworkFacts(nodes, merged_lines(found), tuple(fabrics)))


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


def checkpoint_info(ctx: Context, folder: str, answer: PodAnswer | JobmonError | None) -> CheckpointInfo:
    """Return the checkpoints of a folder; if this host cannot read it, those that a pod found there."""
    found = checkpoints_in(ctx, folder).found
    newest = found.newest_complete
    if not found.problem:
        age_s = max(0.0, ctx.clock.now() - newest.saved_s) if newest else None
        name = newest.path.rpartition("/")[2] if newest else ""
        return _checkpoint_info(newest.step if newest else None, name, len(found.checkpoints), age_s)
    if not isinstance(answer, PodAnswer) or answer.checkpoints is None:
        return _checkpoint_info(None, "", 0, None, f"{folder}: {found.problem}")
    there = answer.checkpoints
    error = f"{folder} in the pod {answer.pod}: {there.problem}" if there.problem else ""
    return _checkpoint_info(there.step, there.name, there.count, there.age_s(ctx.clock.now()), error)


def _checkpoint_info(
    step: int | None, name: str, count: int, age_s: float | None, error: str = ""
) -> CheckpointInfo:
    return CheckpointInfo(
        latest_step=step, latest=name, count=count, age_s=age_s, healthy=not error, error=error
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
