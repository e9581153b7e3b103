"""What the latest reports of a task's agents show, in short."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.node.telemetry.model import WorkerStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.domain.node.telemetry.model import AgentReport, Gpu, Memory, Worker

HIGH_MEMORY = 0.9  # of the limit
_IDLE_PERCENT = 5.0
SPINNING_PERCENT = 95.0  # a GPU that waits in a collective operation runs a kernel nearly always
LOW_POWER = 0.5  # a GPU that computes draws more of its power limit
_EXPECTED_REASON = "power cap"  # nothing is wrong with a GPU that computes as much as it may
_MISSED_INTERVALS, _DELAY_S = 3.0, 15.0  # a file server may show a report late


class NodeGpu(NamedTuple):
    """A GPU and its node."""

    node: str
    gpu: Gpu


class NodeWorker(NamedTuple):
    """A worker, its node, and the time of the report."""

    node: str
    worker: Worker
    at_s: float

    @property
    def uptime_s(self) -> float | None:
        """For how long it has run."""
        if self.worker.started_s:
            return max(0.0, self.at_s - self.worker.started_s)
        return None


class GpuSummary(NamedTuple):
    """The GPUs of a task in short."""

    number: int
    mean_percent: float | None
    lowest: NodeGpu | None  # the least used one
    fullest: NodeGpu | None  # by the share of its memory
    power_w: float | None  # of all


def is_current(report: AgentReport, now_s: float) -> bool:
    """Whether a report is recent, and its agent has not ended."""
    oldest_s = now_s - _MISSED_INTERVALS * report.interval_s - _DELAY_S
    return report.ended_s is None and report.latest.at_s >= oldest_s


def latest_reports(reports: Sequence[AgentReport], now_s: float) -> Sequence[AgentReport]:
    """Return the current reports, else the outdated ones."""
    return [each for each in reports if is_current(each, now_s)] or reports


def all_gpus(reports: Sequence[AgentReport]) -> list[NodeGpu]:
    """Return the GPUs of all nodes."""
    return [NodeGpu(each.latest.node.name, gpu) for each in reports for gpu in each.latest.gpus]


def gpu_name(gpu: NodeGpu, reports: Sequence[AgentReport]) -> str:
    """Return ``GPU 2``, of a task on several nodes ``GPU 2 of n17``."""
    place = ""
    if len(reports) > 1:
        place = f" of {gpu.node}"
    return f"GPU {gpu.gpu.index}{place}"


def all_workers(reports: Sequence[AgentReport]) -> list[NodeWorker]:
    """Return the workers of all nodes by rank; those without one come last."""
    latest = [each.latest for each in reports]
    found = [NodeWorker(each.node.name, worker, each.at_s) for each in latest for worker in each.workers]
    return sorted(found, key=lambda each: (each.worker.rank is None, each.worker.rank or 0))


def gpu_summary(reports: Sequence[AgentReport]) -> GpuSummary | None:
    """Return None without GPUs."""
    gpus = all_gpus(reports)
    if not gpus:
        return None
    used = [each.gpu.utilization_percent for each in gpus if each.gpu.utilization_percent is not None]
    powers = [each.gpu.power_w for each in gpus if each.gpu.power_w is not None]
    known = (each for each in gpus if each.gpu.utilization_percent is not None)
    filled = (each for each in gpus if memory_share(each.gpu) is not None)
    return GpuSummary(
        len(gpus),
        sum(used) / len(used) if used else None,
        min(known, key=lambda each: each.gpu.utilization_percent or 0.0, default=None),
        max(filled, key=lambda each: memory_share(each.gpu) or 0.0, default=None),
        sum(powers) if powers else None,
    )


def memory_share(gpu: Gpu) -> float | None:
    """How much of a GPU's memory is used."""
    if gpu.memory is not None and gpu.memory_total:
        return gpu.memory / gpu.memory_total
    return None


def power_share(gpu: Gpu) -> float | None:
    """How much of its power limit a GPU draws."""
    if gpu.power_w is not None and gpu.power_limit_w:
        return gpu.power_w / gpu.power_limit_w
    return None


def fullest_memory(reports: Sequence[AgentReport]) -> tuple[str, Memory] | None:
    """Return the node closest to its memory limit, and its memory; without limits, the fullest one."""
    found = [(each.latest.node.name, each.latest.memory) for each in reports if each.latest.memory]
    return max(found, key=lambda each: (each[1].share or 0.0, each[1].used), default=None)


def oom_kills(reports: Sequence[AgentReport]) -> int:
    """Return how many processes the kernel's OOM killer has killed."""
    return sum(each.latest.memory.oom_kills or 0 for each in reports if each.latest.memory)


def status_counts(workers: Sequence[NodeWorker]) -> Counter[WorkerStatus]:
    """Return how many workers have each status."""
    return Counter(each.worker.status for each in workers)


def gpu_marks(gpu: Gpu) -> Iterator[str]:
    """Yield what is notable about a GPU, the worst first."""
    if gpu.is_lost:
        yield "lost"
    yield from (f"Xid {number}" for number in gpu.xids)
    if gpu.ecc_errors:
        yield f"{gpu.ecc_errors} ECC error{'s' if gpu.ecc_errors > 1 else ''}"
    if reasons := [each for each in gpu.throttle_reasons if each != _EXPECTED_REASON]:
        yield f"slowed down: {', '.join(reasons)}"
    if gpu.other_processes:
        yield f"{gpu.other_processes} other process{'es' if gpu.other_processes > 1 else ''}"
    if gpu.utilization_percent is not None:
        yield from _load_marks(gpu, gpu.utilization_percent)


def _load_marks(gpu: Gpu, busy_percent: float) -> Iterator[str]:
    power = power_share(gpu)
    if busy_percent < _IDLE_PERCENT and not gpu.is_lost:
        if gpu.own_pids:
            yield "idle"
        else:
            yield "not used"
    if busy_percent >= SPINNING_PERCENT and power is not None and power < LOW_POWER:
        yield "busy at low power"


def gpus_of(worker: NodeWorker, reports: Sequence[AgentReport]) -> list[Gpu]:
    """Return the GPUs that a worker uses."""
    return [
        each.gpu
        for each in all_gpus(reports)
        if each.node == worker.node and each.gpu.index in worker.worker.gpus
    ]


def gpu_use(worker: NodeWorker, reports: Sequence[AgentReport]) -> tuple[float | None, int | None]:
    """Return the mean utilisation (%) and the used memory of a worker's GPUs, by all processes."""
    own = gpus_of(worker, reports)
    used = [gpu.utilization_percent for gpu in own if gpu.utilization_percent is not None]
    memory = [gpu.memory for gpu in own if gpu.memory is not None]
    return (sum(used) / len(used) if used else None), (sum(memory) if memory else None)
