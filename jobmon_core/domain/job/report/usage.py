"""What a task used of its GPUs and nodes, from the histories of its agents.

Sizes are bytes, percentages are 0 to 100, times are Unix seconds. None means "not available".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from jobmon_core.domain.humanize import count
from jobmon_core.domain.job.efficiency.model import IDLE_PERCENT
from jobmon_core.domain.job.report.series import Point, weighted_mean
from jobmon_core.domain.logs.diagnosis.model import MeasuredUse
from jobmon_core.domain.node.telemetry.model import Gpu, Sample
from jobmon_core.domain.slurm.rows import GpuSource, GpuUsage

_JOULES_PER_KWH = 3.6e6
_PERCENT = 100.0

Number = TypeVar("Number", int, float)
# a figure of one sample: its mean, and the lowest and highest value within the sample if they are known
Reading = tuple[float, float | None, float | None]


@dataclass(frozen=True, slots=True)
class NodeHistory:
    """What the agent on one node of a task measured during the run."""

    name: str
    samples: tuple[Sample, ...] = ()  # oldest first
    unavailable: tuple[str, ...] = ()  # what the agent cannot measure, and why

    def gpus(self) -> dict[int, list[tuple[Gpu, Sample]]]:
        """Return what was seen of each GPU of the task on this node, by its index, with the samples."""
        found: dict[int, list[tuple[Gpu, Sample]]] = {}
        for sample in self.samples:
            for gpu in sample.gpus:
                found.setdefault(gpu.index, []).append((gpu, sample))
        return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class GpuUse:
    """What a task used of one GPU."""

    node: str
    index: int
    name: str
    mean_percent: float | None
    highest_percent: float | None
    memory_peak: int | None
    memory_total: int | None
    mean_power_w: float | None
    highest_power_w: float | None  # of the means of the samples
    energy_kwh: float | None  # while an agent measured
    notes: tuple[str, ...]  # errors, in a few words each


@dataclass(frozen=True, slots=True)
class NodeUse:
    """What a task used of one node."""

    name: str
    cores: float | None
    mean_cores: float | None  # that were busy
    highest_cores: float | None  # of the means of the samples
    throttled_percent: float | None
    memory_peak: int | None
    memory_limit: int | None
    oom_kills: int
    measured_s: float  # for how long an agent measured


def gpu_uses(nodes: Iterable[NodeHistory]) -> tuple[GpuUse, ...]:
    """Return what was used of each GPU."""
    return tuple(_gpu_use(node.name, index, looks) for node in nodes for index, looks in node.gpus().items())


def _gpu_use(node: str, index: int, seen: Iterable[tuple[Gpu, Sample]]) -> GpuUse:
    looks = [(gpu, sample.span_s) for gpu, sample in seen]
    gpus = [gpu for gpu, _ in looks]
    powers = _known((gpu.power_w, span_s) for gpu, span_s in looks)
    energy_kwh = None
    if powers:
        energy_kwh = sum(power * span_s for power, span_s in powers) / _JOULES_PER_KWH
    return GpuUse(
        node,
        index,
        next((gpu.name for gpu in gpus if gpu.name), ""),
        _mean(_known((gpu.utilization_percent, span_s) for gpu, span_s in looks)),
        _highest(gpu.highest_percent or gpu.utilization_percent for gpu in gpus),
        _highest(gpu.memory for gpu in gpus),
        _highest(gpu.memory_total or None for gpu in gpus),
        _mean(powers),
        _highest(power for power, _ in powers),
        energy_kwh,
        tuple(_notes(gpus)),
    )


def _known(values: Iterable[tuple[float | None, float]]) -> list[tuple[float, float]]:
    return [(value, span_s) for value, span_s in values if value is not None]


def _mean(known: Sequence[tuple[float, float]]) -> float | None:
    if known:
        return weighted_mean(known)
    return None


def _highest(values: Iterable[Number | None]) -> Number | None:
    return max((value for value in values if value is not None), default=None)


def _notes(looks: Sequence[Gpu]) -> Iterator[str]:
    if looks[-1].is_lost:
        yield "lost"
    yield from (f"Xid {number}" for number in sorted({each for gpu in looks for each in gpu.xids}))
    if errors := max(gpu.ecc_errors or 0 for gpu in looks):
        yield count(errors, "uncorrected ECC error")
    if reasons := sorted({reason for gpu in looks for reason in gpu.throttle_reasons}):
        yield f"slowed down by {', '.join(reasons)}"
    if any(gpu.other_processes for gpu in looks):
        yield "also used by processes outside the job"


def node_use(node: NodeHistory) -> NodeUse:
    """Return what was used of a node."""
    looks = [(each.cpu, each.span_s) for each in node.samples if each.cpu]
    percents = _known((cpu.used_percent, span_s) for cpu, span_s in looks)
    used = [(percent / _PERCENT, span_s) for percent, span_s in percents]
    memory = [each.memory for each in node.samples if each.memory]
    return NodeUse(
        node.name,
        max((cpu.cores for cpu, _ in looks), default=None),
        _mean(used),
        _highest(cores for cores, _ in used),
        _mean(_known((cpu.throttled_percent, span_s) for cpu, span_s in looks)),
        _highest(each.used for each in memory),
        next(filter(None, (each.limit for each in reversed(memory))), None),
        _highest(each.oom_kills for each in memory) or 0,
        sum(each.span_s for each in node.samples),
    )


def energy_kwh(uses: Iterable[GpuUse]) -> float | None:
    """Return the energy that all GPUs took while agents measured."""
    known = [each.energy_kwh for each in uses if each.energy_kwh is not None]
    if known:
        return sum(known)
    return None


def gpu_measures(
    seen: Iterable[tuple[Gpu, Sample]], reading: Callable[[Gpu], Reading | None]
) -> Iterator[Point]:
    """Yield one figure of a GPU over time."""
    for gpu, sample in seen:
        if (found := reading(gpu)) is not None:
            mean, low, high = found
            low, high = mean if low is None else low, mean if high is None else high
            yield Point(sample.at_s, mean, low, high, sample.span_s)


def node_measures(node: NodeHistory, reading: Callable[[Sample], float | None]) -> Iterator[Point]:
    """Yield one figure of a node over time."""
    for sample in node.samples:
        if (value := reading(sample)) is not None:
            yield Point(sample.at_s, value, value, value, sample.span_s)


def utilisation(gpu: Gpu) -> Reading | None:
    """Return the share of the time in which a kernel ran, in percent."""
    if gpu.utilization_percent is None:
        return None
    return gpu.utilization_percent, gpu.lowest_percent, gpu.highest_percent


def memory(gpu: Gpu) -> Reading | None:
    """Return the memory that is used on a GPU."""
    if gpu.memory is None:
        return None
    return (gpu.memory, None, None)


def power(gpu: Gpu) -> Reading | None:
    """Return the power that a GPU takes."""
    if gpu.power_w is None:
        return None
    return (gpu.power_w, None, None)


def measured_use(nodes: Sequence[NodeHistory]) -> MeasuredUse:
    """Return what was measured on the nodes of a run: means over time of GPUs, peaks of memory."""
    uses, node_uses = gpu_uses(nodes), [node_use(node) for node in nodes]
    percents = [use.mean_percent for use in uses if use.mean_percent is not None]
    peaks = [use.memory_peak for use in uses if use.memory_peak is not None]
    gpu = GpuUsage(
        GpuSource.AGENTS,
        percent=sum(percents) / len(percents) if percents else None,
        # of a GPU without a utilisation, e.g. a MIG one, nothing is known
        idle=sum(each < IDLE_PERCENT for each in percents) if len(percents) == len(uses) else None,
        memory_bytes=max(peaks, default=None),
        measured_s=min((use.measured_s for use in node_uses), default=0.0),
    )
    return MeasuredUse(
        gpus=len(uses) or None,
        gpu=gpu if percents or peaks else None,
        node_peak_bytes=max((use.memory_peak for use in node_uses if use.memory_peak), default=None),
    )
