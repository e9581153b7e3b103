"""The lines of ``gpu_metrics.csv``.

The columns, in this order; an empty value means "not available":

=========================  =============================================================================
time                       the end of the span, UTC, as in 2026-01-31T12:00:00Z
span_s                     the length of the span in seconds, usually 60
gpu                        the index of the GPU on the node
uuid                       the GPU's own identifier
utilization_percent        mean share of the time in which any kernel ran, sampled at least once a second
lowest_percent             the lowest of these samples
highest_percent            the highest of them
memory_bytes               mean memory in use, by all processes
memory_total_bytes         memory of the GPU
power_w                    mean power in watts
temperature_c              mean temperature in degrees Celsius
sm_percent                 share of the streaming multiprocessors that were busy (NVML GPM)
tensor_percent             share of the time in which tensor cores were busy (NVML GPM)
bandwidth_percent          share of the memory bandwidth in use (NVML GPM)
throttle_reasons           what slowed it down, separated by semicolons
own_processes              processes of the task that use it
other_processes            processes that use it and do not belong to the task
ecc_errors                 uncorrected memory errors since the driver was loaded
xids                       the driver's error numbers since the agent started, separated by semicolons
=========================  =============================================================================
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobmon_core.domain.telemetry.model import Gpu, Sample

HEADER = (
    "time,span_s,gpu,uuid,utilization_percent,lowest_percent,highest_percent,memory_bytes,memory_total_bytes,"
    "power_w,temperature_c,sm_percent,tensor_percent,bandwidth_percent,throttle_reasons,own_processes,"
    "other_processes,ecc_errors,xids"
)


def gpu_lines(sample: Sample) -> tuple[str, ...]:
    """Return one line for each GPU of a sample, without the line ends."""
    time = datetime.fromtimestamp(sample.at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return tuple(f"{time},{sample.span_s:g},{_line(gpu)}" for gpu in sample.gpus)


def _line(gpu: Gpu) -> str:
    values = (
        gpu.index,
        gpu.uuid,
        *(gpu.utilization_percent, gpu.lowest_percent, gpu.highest_percent),
        *(gpu.memory, gpu.memory_total, gpu.power_w, gpu.temperature_c),
        *(gpu.sm_percent, gpu.tensor_percent, gpu.bandwidth_percent),
        ";".join(gpu.throttle_reasons),
        *(len(gpu.own_pids), gpu.other_processes, gpu.ecc_errors),
        ";".join(str(xid) for xid in gpu.xids),
    )
    return ",".join("" if value is None else str(value) for value in values)
