"""What a run used of what it was given. Durations are seconds, sizes bytes, shares 0 to 1, None is unknown.

The formulas are those of ``seff`` 2.1 in Slurm's ``contribs``, applied to the accounting of any version:

- CPU: processor time of all steps / (elapsed time x allocated CPUs). One difference: of the two figures that
  accounting has for a step, TotalCPU and ``cpu`` in TRESUsageInTot, the larger one counts, because TotalCPU
  of srun steps is sometimes zero (observed on 25.05). The steps of jobmon's agents do not count.
- memory: the largest step / allocated memory, where the memory of a step is ``mem`` in TRESUsageInTot, the
  sum of the peaks of its tasks. seff of 22.05 and older multiplied the largest task instead.
- GPU hours: allocated GPUs x elapsed time. seff has no such figure.

Where seff prints ``0.00%`` because nothing was recorded, a figure here is None.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.rows import GpuUsage, Usage
from jobmon_core.domain.slurm.states import JobState

if TYPE_CHECKING:
    from jobmon_core.domain.job.tracking.model import End
    from jobmon_core.domain.logs.diagnosis.model import MeasuredUse

IDLE_PERCENT = 5.0  # a GPU whose mean utilisation is below this was idle
_HOUR_S = 3600.0
_MOST = 0.5  # if agents measured less of the run, recorded figures count more than theirs


@dataclass(frozen=True, slots=True)
class Efficiency:
    """What one run used: of a job, an array task or a component; of a requeued job, the last run."""

    state: JobState
    wall_s: float | None
    limit_s: float | None  # None also if there is no limit
    usage: Usage
    node_peak_bytes: int | None = None  # the highest memory on one node, as jobmon's agents measured it
    gpu_busy_s: tuple[int, ...] = ()  # see `HistoryRecord`
    gpu_idle_s: int = 0
    exceeded_memory: bool = False  # whether it was killed for a peak of its memory that samples missed

    @property
    def limit_share(self) -> float | None:
        """The wall time as a share of the time limit."""
        return _share(self.wall_s, self.limit_s)

    @property
    def exceeded_limit(self) -> bool:
        """Whether Slurm ended it at the time limit."""
        return self.state is JobState.TIMEOUT

    @property
    def cpu_share(self) -> float | None:
        """The processor time as a share of that of all allocated CPUs."""
        return _share(self.usage.cpu_s or None, self.core_s)

    @property
    def core_s(self) -> float | None:
        """The CPU time that was allocated: elapsed time x allocated CPUs."""
        return _product(self.wall_s, self.usage.cpus)

    @property
    def memory_share(self) -> float | None:
        """The memory as a share of what was allocated on all nodes."""
        return _share(self.usage.max_rss_bytes, self.usage.requested_bytes)

    @property
    def requested_per_node(self) -> float | None:
        """The allocated memory per node; of a job with unequal nodes, the mean."""
        requested = self.usage.requested_bytes
        if requested is None:
            return None
        return requested / (self.usage.nodes or 1)

    @property
    def used_per_node(self) -> float | None:
        """The memory of the fullest node; of several nodes, only agents know it."""
        known = [size for size in (self.node_peak_bytes,) if size]
        if (self.usage.nodes or 1) == 1 and self.usage.max_rss_bytes:
            known.append(self.usage.max_rss_bytes)
        return max(known, default=None)

    @property
    def gpu_hours(self) -> float | None:
        """The time for which GPUs were allocated, in hours."""
        gpu_s = _product(self.wall_s, self.usage.gpus or None)
        if gpu_s is None:
            return None
        return gpu_s / _HOUR_S

    @property
    def gpu(self) -> GpuUsage | None:
        """What was used of the GPUs."""
        return self.usage.gpu

    def with_measured(self, measured: MeasuredUse) -> Efficiency:
        """Return it with what agents measured.

        Their figures of GPUs replace recorded ones, unless they cover less than half of the run.
        """
        peak = max(self.usage.max_rss_bytes or 0, measured.node_peak_bytes or 0) or None
        usage = replace(self.usage, max_rss_bytes=peak)
        found = replace(self, node_peak_bytes=measured.node_peak_bytes, usage=usage)
        gpu, recorded = measured.gpu, self.usage.gpu
        is_partial = gpu is not None and (gpu.measured_s or 0.0) < _MOST * (self.wall_s or 0.0)
        if gpu is None or (recorded is not None and is_partial):
            return found
        return replace(found, usage=replace(usage, gpu=gpu, gpus=self.usage.gpus or measured.gpus))


def efficiency_of_end(end: End) -> Efficiency:
    """Return what an ended task used."""
    run_s = end.usage.run_s
    wall_s = end.elapsed_s if run_s is None else run_s
    return Efficiency(end.state, wall_s, end.limit_s, end.usage)


def _share(part: float | None, whole: float | None) -> float | None:
    if part is None or not whole:
        return None
    return part / whole


def _product(first: float | None, second: float | None) -> float | None:
    if first is None or second is None:
        return None
    return first * second
