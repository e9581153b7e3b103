"""What jobmon's agents measured of a whole run, in a few figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from jobmon_core.domain.slurm.rows import GpuUsage


@dataclass(frozen=True, slots=True)
class MeasuredUse:
    """What a run used; what was not measured is None."""

    gpus: int | None = None  # number of the GPUs that the agents saw
    gpu: GpuUsage | None = None
    node_peak_bytes: int | None = None  # the highest memory on one node


class StepUsage(NamedTuple):
    """The memory and the CPU time of all steps of a task."""

    memory: int | None = None  # bytes, as of the scheduler's latest sample
    cpu_s: float | None = None  # so far

    def plus(self, other: StepUsage) -> StepUsage:
        """Return the sum; what only one of them knows counts alone."""
        memory = [each for each in (self.memory, other.memory) if each is not None]
        cpu_s = [each for each in (self.cpu_s, other.cpu_s) if each is not None]
        return StepUsage(sum(memory) if memory else None, sum(cpu_s) if cpu_s else None)
