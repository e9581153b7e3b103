"""What jobmon's agents measured of a run, from their histories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.job.efficiency.model import IDLE_PERCENT
from jobmon_core.domain.job.report.usage import gpu_uses, node_use
from jobmon_core.domain.logs.diagnosis.model import MeasuredUse
from jobmon_core.domain.slurm.rows import GpuSource, GpuUsage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.domain.job.report.usage import NodeHistory


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
