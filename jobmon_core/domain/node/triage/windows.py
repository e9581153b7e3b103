"""Means of the last minutes, weighted by time; not available if missing for over 30 % of it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

from jobmon_core.domain.node.telemetry.model import Gpu, Sample, Worker
from jobmon_core.domain.node.triage.situation import NodeView, Situation

_MIN_COVERED = 0.7  # of the time
_LATE = 1.5  # the next sample is due after one span

Window = tuple[tuple[float, Sample], ...]  # each with the seconds that it covers
Figure = Callable[
    [Sample], float | None
]  # of a condition, the mean is the share of the time in which it held


def window(node: NodeView, now_s: float, seconds: float) -> Window:
    """Return the samples of the last ``seconds``, oldest first; none if they cover too little of that time.

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
            parts.append((until_s - since_s, sample))
            end_s = since_s
        if sample.at_s < begin_s:
            break
    covered_s = sum(part_s for part_s, _ in parts)
    if covered_s >= _MIN_COVERED * seconds:
        return tuple(reversed(parts))
    return ()


def windows(situation: Situation, seconds: float) -> list[Window]:
    """Return the samples of each node."""
    return [window(node, situation.now_s, seconds) for node in situation.nodes]


def average(of: Window, figure: Figure) -> float | None:
    """Return None unless a figure is known for most of the time."""
    known = [(part_s, value) for part_s, sample in of if (value := figure(sample)) is not None]
    known_s = sum(part_s for part_s, _ in known)
    if not known or known_s < _MIN_COVERED * sum(part_s for part_s, _ in of):
        return None
    return sum(part_s * value for part_s, value in known) / known_s


class GpuView(NamedTuple):
    """One GPU of a task."""

    situation: Situation
    node: NodeView
    latest: Gpu

    @property
    def name(self) -> str:
        """With the node only if there are several."""
        place = ""
        if len(self.situation.nodes) > 1:
            place = f" on {self.node.name}"
        return f"GPU {self.latest.index}{place}"

    @property
    def series(self) -> list[tuple[float, Gpu]]:
        """Of all samples, with their times."""
        index = self.latest.index
        return [(each.at_s, gpu) for each in self.node.samples for gpu in each.gpus if gpu.index == index]

    def average(self, seconds: float, figure: Callable[[Gpu], float | None]) -> float | None:
        """Return the mean of a figure over the last ``seconds``."""

        def of_sample(sample: Sample) -> float | None:
            return next((figure(gpu) for gpu in sample.gpus if gpu.index == self.latest.index), None)

        return average(window(self.node, self.situation.now_s, seconds), of_sample)


def gpus_of(situation: Situation) -> tuple[GpuView, ...]:
    """As of the latest samples."""
    return tuple(GpuView(situation, node, gpu) for node in situation.nodes for gpu in node.latest.gpus)


def utilization(gpu: Gpu) -> float | None:
    """Return None for a partitioned GPU, whose driver gives none."""
    if gpu.is_mig:
        return None
    return gpu.utilization_percent


def utilizations(situation: Situation, seconds: float) -> tuple[float, ...]:
    """Return the mean of each GPU; none if any is not available."""
    means = [gpu.average(seconds, utilization) for gpu in gpus_of(situation)]
    return all_known(means)


def all_known(values: Sequence[float | None]) -> tuple[float, ...]:
    """Return no values if any is None."""
    known = tuple(value for value in values if value is not None)
    if len(known) == len(values):
        return known
    return ()


def worker_average(
    situation: Situation,
    node: NodeView,
    worker: Worker,
    seconds: float,
    figure: Callable[[Worker], float | None],
) -> float | None:
    """Return the mean of a figure of a worker."""

    def of_sample(sample: Sample) -> float | None:
        return next((figure(each) for each in sample.workers if each.pid == worker.pid), None)

    return average(window(node, situation.now_s, seconds), of_sample)


def cpu_use(situation: Situation, seconds: float) -> tuple[float, float] | None:
    """Return the CPU use in % of one core and the number of cores, of all nodes."""
    used = all_known([average(of, _used) for of in windows(situation, seconds)])
    cpus = [node.latest.cpu for node in situation.nodes]
    cores = sum(cpu.cores for cpu in cpus if cpu)
    if used and all(cpus):
        return (sum(used), cores)
    return None


def own_cpu(sample: Sample) -> float | None:
    """In % of one core, as the task's cgroup counts it."""
    if sample.cpu:
        return sample.cpu.used_percent
    return None


def own_memory(sample: Sample) -> float | None:
    """Bytes that the task uses."""
    if sample.memory:
        return sample.memory.used
    return None


def _used(sample: Sample) -> float | None:
    used = own_cpu(sample)
    if used is not None:
        return used
    known = [worker.cpu_percent for worker in sample.workers if worker.cpu_percent is not None]
    if known:
        return sum(known)
    return None


def transferred_per_s(situation: Situation, seconds: float) -> float | None:
    """Return the bytes that workers transfer (unknown: 0); None without enough samples."""
    means = [
        average(of, lambda sample: read_per_s(sample) + written_per_s(sample))
        for of in windows(situation, seconds)
    ]
    if known := all_known(means):
        return sum(known)
    return None


def read_per_s(sample: Sample) -> float:
    """Bytes that the workers read from disks and file servers."""
    return sum(worker.read_per_s or 0.0 for worker in sample.workers)


def written_per_s(sample: Sample) -> float:
    """Bytes that the workers wrote to them."""
    return sum(worker.written_per_s or 0.0 for worker in sample.workers)


def odd_one(values: Sequence[float], distance: float) -> int | None:
    """Return the index of the only value that is farther than ``distance`` from all others.

    The others must lie within half that distance. Of two values, none is the odd one.
    """
    if len(values) < 3:  # noqa: PLR2004 - of two that differ, either may be the odd one
        return None
    middle = statistics.median(values)
    index = max(range(len(values)), key=lambda i: abs(values[i] - middle))
    others = [value for i, value in enumerate(values) if i != index]
    gap = min(abs(values[index] - other) for other in others)
    if gap > distance and max(others) - min(others) <= distance / 2:
        return index
    return None
