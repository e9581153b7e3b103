"""What jobmon's agents measured of a whole run, in a few figures."""

from __future__ import annotations

from dataclasses import dataclass

from jobmon_core.domain.slurm.rows import GpuUsage


@dataclass(frozen=True, slots=True)
class MeasuredUse:
    """What a run used; what was not measured is None."""

    gpus: int | None = None  # number of the GPUs that the agents saw
    gpu: GpuUsage | None = None
    node_peak_bytes: int | None = None  # the highest memory on one node
