"""Figures of the last minutes, weighted by time.

A figure counts as not available if it is missing for more than 30 % of the time.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from jobmon_core.domain.node.telemetry.model import Gpu, Sample, Worker
from jobmon_core.domain.node.triage.situation import NodeView, Situation

_MIN_COVERED = 0.7  # of the time that a condition must last
_LATE = 1.5  # spans of the latest sample; the next sample is due after one span


class Weighted(NamedTuple):
    """A sample, and how many seconds of the window it covers."""

    seconds: float
    sample: Sample


Window = tuple[Weighted, ...]
Figure = Callable[[Sample], float | None]


def window(node: NodeView, now_s: float, seconds: float) -> Window:
    """Return the samples of the last ``seconds``; none if they cover too little of that time.

    Until the next sample is due, that time ends with the latest one.
    """
    latest = node.latest
    if 0 < now_s - latest.at_s <= _LATE * latest.span_s:
        now_s = latest.at_s
    begin_s = now_s - seconds
    parts = []
    end_s = now_s  # the latest report is often within the newest minute of the history
    for sample in reversed(node.samples):
        since_s, until_s = max(begin_s, sample.at_s - sample.span_s), min(end_s, sample.at_s)
        if until_s > since_s:
            parts.append(Weighted(until_s - since_s, sample))
            end_s = since_s
        if sample.at_s < begin_s:
            break
    covered_s = sum(part.seconds for part in parts)
    return tuple(reversed(parts)) if covered_s >= _MIN_COVERED * seconds else ()


def average(of: Window, figure: Figure) -> float | None:
    """Return the mean of a figure; None unless it is known for most of the time."""
    known = [(part.seconds, value) for part in of if (value := figure(part.sample)) is not None]
    if not _is_most(of, (seconds for seconds, _ in known)):
        return None
    return sum(seconds * value for seconds, value in known) / sum(seconds for seconds, _ in known)


def share(of: Window, condition: Callable[[Sample], bool | None]) -> float | None:
    """Return in which share of the time a condition held, from 0 to 1; None unless that is mostly known."""
    return average(of, lambda sample: None if (holds := condition(sample)) is None else float(holds))


def _is_most(of: Window, seconds: Iterable[float]) -> bool:
    total_s = sum(part.seconds for part in of)
    return total_s > 0 and sum(seconds) >= _MIN_COVERED * total_s


class GpuKey(NamedTuple):
    """One GPU of a task."""

    node: NodeView
    number: int  # its index on the node

    def name(self, situation: Situation) -> str:
        """Return how a text names it; the node only if there are several."""
        return f"GPU {self.number}" + (f" on {self.node.name}" if len(situation.nodes) > 1 else "")


def gpu_keys(situation: Situation) -> tuple[GpuKey, ...]:
    """Return the GPUs of a task, as of the latest samples."""
    return tuple(GpuKey(node, gpu.index) for node in situation.nodes for gpu in node.latest.gpus)


def gpu_of(sample: Sample, index: int) -> Gpu | None:
    """Return a GPU in a sample."""
    return next((gpu for gpu in sample.gpus if gpu.index == index), None)


def gpu_average(
    key: GpuKey, now_s: float, seconds: float, figure: Callable[[Gpu], float | None]
) -> float | None:
    """Return the mean of a figure of a GPU over the last ``seconds``; None if it is not available."""

    def of_sample(sample: Sample) -> float | None:
        gpu = gpu_of(sample, key.number)
        return None if gpu is None else figure(gpu)

    return average(window(key.node, now_s, seconds), of_sample)


def gpu_share(
    key: GpuKey, now_s: float, seconds: float, condition: Callable[[Gpu], bool | None]
) -> float | None:
    """Return in which share of the last ``seconds`` a condition held for a GPU; None if that is not known."""
    return gpu_average(
        key, now_s, seconds, lambda gpu: None if (holds := condition(gpu)) is None else float(holds)
    )


def utilization(gpu: Gpu) -> float | None:
    """Return the utilisation of a GPU in %; None for a partitioned one, whose driver gives none."""
    return None if gpu.is_mig else gpu.utilization_percent


def utilizations(situation: Situation, seconds: float) -> tuple[float, ...]:
    """Return the mean utilisation of each GPU over the last ``seconds``; none if any is not available."""
    means = [gpu_average(key, situation.now_s, seconds, utilization) for key in gpu_keys(situation)]
    known = tuple(mean for mean in means if mean is not None)
    return known if len(known) == len(means) else ()


def worker_average(
    node: NodeView, pid: int, now_s: float, seconds: float, figure: Callable[[Worker], float | None]
) -> float | None:
    """Return the mean of a figure of a worker over the last ``seconds``; None if it is not available."""

    def of_sample(sample: Sample) -> float | None:
        worker = next((each for each in sample.workers if each.pid == pid), None)
        return None if worker is None else figure(worker)

    return average(window(node, now_s, seconds), of_sample)


def cpu_percents(situation: Situation, seconds: float) -> tuple[tuple[float, float], ...]:
    """Return the CPU use in % of one core and the number of cores of each node; none if one is not known."""
    found = []
    for node in situation.nodes:
        cpu = node.latest.cpu
        used = average(window(node, situation.now_s, seconds), _used)
        if cpu is None or used is None:
            return ()
        found.append((used, cpu.cores))
    return tuple(found)


def _used(sample: Sample) -> float | None:
    if sample.cpu and sample.cpu.used_percent is not None:
        return sample.cpu.used_percent
    known = [worker.cpu_percent for worker in sample.workers if worker.cpu_percent is not None]
    return sum(known) if known else None


def transferred_per_s(situation: Situation, seconds: float) -> float | None:
    """Return the bytes that workers transfer per second (unknown: 0); None without enough samples."""
    return _sum_of(situation, seconds, lambda sample: read_per_s(sample, 0.0) + written_per_s(sample, 0.0))


def _sum_of(situation: Situation, seconds: float, figure: Figure) -> float | None:
    means = [average(window(node, situation.now_s, seconds), figure) for node in situation.nodes]
    known = [mean for mean in means if mean is not None]
    return sum(known) if known and len(known) == len(means) else None


def read_per_s(sample: Sample, default: float) -> float:
    """Return the bytes per second that the workers read from disks and file servers."""
    return sum((worker.read_per_s or 0.0 for worker in sample.workers), default)


def written_per_s(sample: Sample, default: float) -> float:
    """Return the bytes per second that the workers wrote to disks and file servers."""
    return sum((worker.written_per_s or 0.0 for worker in sample.workers), default)


def odd_one(values: Sequence[float], distance: float) -> int | None:
    """Return the index of the only value that is farther than ``distance`` from all others, which agree.

    The others agree if they lie within half that distance. With two values, none is the odd one.
    """
    if len(values) < 3:  # noqa: PLR2004 - of two that differ, either may be the odd one
        return None
    middle = statistics.median(values)
    index = max(range(len(values)), key=lambda i: abs(values[i] - middle))
    others = [value for i, value in enumerate(values) if i != index]
    gap = min(abs(values[index] - other) for other in others)
    return index if gap > distance and max(others) - min(others) <= distance / 2 else None
