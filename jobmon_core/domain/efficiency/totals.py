"""What many runs used together. Hours are those of allocated resources; None: not recorded for any run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon_core.domain.efficiency.model import Efficiency

_HOUR_S = 3600.0
_GIB = 2**30


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
