"""What a run used of its request, in a few characters for each resource, and what many used together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.humanize import duration, size
from jobmon_core.domain.job.efficiency.advice import MIN_RUN_S, savings
from jobmon_core.domain.slurm.states import JobState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon_core.domain.job.efficiency.model import Efficiency

_HOUR_S = 3600.0
_GIB = 2**30

UNKNOWN = "n/a"


def efficiency_line(found: Efficiency) -> str:
    """Return one line for a message: CPUs, GPUs and what would have been enough; empty for a short run."""
    if (found.wall_s or 0.0) < MIN_RUN_S:
        return ""
    cpus = f"CPU {cpu_text(found)}" if found.cpu_share is not None else ""
    gpus = f"GPU {text}" if (text := gpu_text(found)) and not text.startswith(UNKNOWN) else ""
    hours = f"{found.gpu_hours:.1f} GPU hours" if found.gpu_hours else ""
    return "; ".join(filter(None, (", ".join(filter(None, (cpus, gpus, hours))), savings(found))))


def time_text(found: Efficiency) -> str:
    """Return the share of the time limit, e.g. ``25% of 4h``; without a limit, the wall time."""
    if found.wall_s is None:
        return UNKNOWN
    return _of(found.limit_share, duration(found.limit_s)) if found.limit_s else duration(found.wall_s)


def cpu_text(found: Efficiency) -> str:
    """Return the share of the allocated CPUs, e.g. ``12% of 16``."""
    return _of(found.cpu_share, str(found.usage.cpus)) if found.usage.cpus else UNKNOWN


def memory_text(found: Efficiency) -> str:
    """Return the share of the allocated memory, e.g. ``10% of 32.0 GiB``."""
    requested = found.usage.requested_bytes
    if not requested:
        return size(found.usage.max_rss_bytes) if found.usage.max_rss_bytes else UNKNOWN
    is_killed = found.exceeded_memory or found.state is JobState.OUT_OF_MEMORY
    if is_killed and (found.memory_share or 0.0) < 1.0:
        return f"over {size(requested)}"  # samples missed the peak
    return _of(found.memory_share, size(requested))


def gpu_text(found: Efficiency) -> str:
    """Return the utilisation of the GPUs, e.g. ``83% of 4``; empty for a job without any."""
    gpu, number = found.gpu, found.usage.gpus
    if not number:
        return ""
    if gpu is None or gpu.percent is None:
        return f"{UNKNOWN} of {number}"
    return f"{'' if gpu.is_mean else 'max '}{gpu.percent:.0f}% of {number}"


def _of(share: float | None, whole: str) -> str:
    if share is None:
        return f"{UNKNOWN} of {whole}"
    is_small = 0.0 < share < 0.01  # noqa: PLR2004 - it would read 0%
    return f"{'<1%' if is_small else f'{share:.0%}'} of {whole}"


class Totals(NamedTuple):
    """Sums over runs, and shares of the runs for which both figures are recorded."""

    runs: int
    cpu_hours: float | None  # allocated
    cpu_share: float | None
    memory_gib_hours: float | None  # allocated
    memory_share: float | None
    gpu_hours: float | None
    gpu_percent: float | None  # of the GPU hours whose use is recorded as a mean over time
    gpu_hours_recorded: float  # the GPU hours to which ``gpu_percent`` applies


def totals(found: Sequence[Efficiency]) -> Totals:
    """Return the totals of runs; a share weighs each run by its allocated hours."""
    core_s = [each.core_s for each in found if each.core_s is not None]
    memory = [(each, each.usage.requested_bytes or 0, each.wall_s) for each in found if each.wall_s]
    gpu_hours = [each.gpu_hours for each in found if each.gpu_hours is not None]
    means = [
        (each.gpu.percent, each.gpu_hours)
        for each in found
        if each.gpu and each.gpu.percent is not None and each.gpu.is_mean and each.gpu_hours
    ]
    return Totals(
        len(found),
        sum(core_s) / _HOUR_S if core_s else None,
        _weighted((each.cpu_share, each.core_s) for each in found),
        sum(size * wall_s for _, size, wall_s in memory) / _GIB / _HOUR_S
        if any(m[1] for m in memory)
        else None,
        _weighted((each.memory_share, size * wall_s) for each, size, wall_s in memory),
        sum(gpu_hours) if gpu_hours else None,
        _weighted(means),
        sum(hours for _, hours in means),
    )


def _weighted(pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    known = [(value, weight) for value, weight in pairs if value is not None and weight]
    weights = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / weights if weights else None
