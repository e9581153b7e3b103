"""Which of its GPUs a job uses."""

from __future__ import annotations

from collections.abc import Sequence

from jobmon_core.domain.health.model import GpuHealth
from jobmon_core.domain.humanize import count, duration
from jobmon_core.domain.telemetry.model import AgentReport, Gpu
from jobmon_core.domain.telemetry.summary import NodeGpu, all_gpus
from jobmon_core.domain.triage.situation import Situation
from jobmon_core.domain.triage.windows import gpu_average, gpu_keys, utilization

_IDLE_PERCENT = 5.0
_UNUSED_BYTES = 2**30  # what the driver itself takes of a GPU is less


def gpu_health(reports: Sequence[AgentReport], situation: Situation | None) -> GpuHealth:
    """Return what the agents show of the GPUs; with a situation, over the time that a problem must last."""
    gpus = all_gpus(reports)
    if not reports:
        return GpuHealth()
    means = _means(situation) if situation else {}
    busy = tuple(means.get((each.node, each.gpu.index), utilization(each.gpu)) for each in gpus)
    is_mean = bool(gpus) and all((each.node, each.gpu.index) in means for each in gpus)
    idle = tuple(
        f"GPU {each.gpu.index}{f' of {each.node}' if len(reports) > 1 else ''}"
        for each, percent in zip(gpus, busy, strict=True)
        if _is_idle(each, percent)
    )
    known = all(percent is not None or each.gpu.own_pids for each, percent in zip(gpus, busy, strict=True))
    return GpuHealth(
        len(gpus),
        len(gpus) - len(idle) if known and gpus else None,
        idle,
        busy,
        situation.thresholds.must_last_s if situation and is_mean else None,
    )


def unused_text(found: GpuHealth) -> str:
    """Return the issue of a job that uses none of its GPUs."""
    span = f" over the last {duration(found.span_s)}" if found.span_s else ""
    gpus = count(found.allocated or 0, "GPU")
    return (
        f"GPUs available but not being used: {gpus} allocated, {found.mean_percent or 0.0:.0f} % busy{span}"
    )


def holds_memory(reports: Sequence[AgentReport]) -> bool:
    """Whether a program holds memory of a GPU, as it does from its first use to its end."""
    return any((each.gpu.memory or 0) > _UNUSED_BYTES for each in all_gpus(reports))


def _is_idle(found: NodeGpu, percent: float | None) -> bool:
    if percent is None:
        return found.gpu.other_processes is not None and not found.gpu.own_pids and not _is_unknown(found.gpu)
    return percent < _IDLE_PERCENT


def _is_unknown(gpu: Gpu) -> bool:
    """Whether the driver shows too little: of a partitioned GPU, or of one that it lost."""
    return gpu.is_mig or gpu.is_lost


def _means(situation: Situation) -> dict[tuple[str, int], float]:
    """Return the mean utilisation of each GPU, by node and index, over the time that a problem must last."""
    found = {}
    for key in gpu_keys(situation):
        mean = gpu_average(key, situation.now_s, situation.thresholds.must_last_s, utilization)
        if mean is not None:
            found[key.node.latest.node.name, key.number] = mean
    return found
