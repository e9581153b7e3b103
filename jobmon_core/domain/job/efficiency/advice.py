"""What a run used of its request, in a few characters for each resource, and what would have been enough."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.humanize import duration, size
from jobmon_core.domain.job.efficiency.model import IDLE_PERCENT, Efficiency
from jobmon_core.domain.slurm.rows import GpuSource
from jobmon_core.domain.slurm.states import JobState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MIN_RUN_S = 600.0  # Slurm samples the memory every 30 s: a shorter run says little
_MORE_MEMORY = 1.5  # after a run that lacked memory: how much it lacked is not known
_MEMORY_MARGIN = 1.25  # samples miss short peaks, and the next run may need a little more
_CPU_MARGIN = 1.5  # the mean hides peaks
_TIME_MARGIN = 1.5  # nodes and file systems differ from run to run
_WORTHWHILE = 0.6  # lower requests are advised only if this share would have been enough
_MIN_SAVED_BYTES = 2**30
_MIN_SAVED_S = 1800.0
_MIN_COVERAGE = 0.5  # of the run: if less was measured, nothing is said about its GPUs
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
_GIB = 2**30

UNKNOWN = "n/a"


def advice(found: Efficiency) -> str:
    """Return one line of advice, e.g. ``--mem 12G would have been enough``."""
    return "; ".join((*_too_little(found), *_savings(found)))


def savings(found: Efficiency) -> str:
    """Return only what speaks for requesting less."""
    return "; ".join(_savings(found))


def _too_little(found: Efficiency) -> Iterator[str]:
    if found.exceeded_limit:
        yield "time limit exceeded: request a longer `--time`, or resume from a checkpoint"
    if found.state is JobState.OUT_OF_MEMORY:
        requested = found.requested_per_node
        yield (
            f"out of memory: request more than `--mem {_mem_option(requested)}`"
            if requested
            else ("out of memory: request more with `--mem`")
        )


def _savings(found: Efficiency) -> Iterator[str]:
    if (found.wall_s or 0.0) < MIN_RUN_S:
        return
    yield from _gpu_advice(found)
    # a run that did not complete may have needed more later, and accounting misses the last samples of a
    # killed step
    if found.state is JobState.COMPLETED:
        enough = [text for text in _enough(found) if text]
        if enough:
            listed = " and ".join(filter(None, (", ".join(enough[:-1]), enough[-1])))
            yield f"{listed} would have been enough"


def _gpu_advice(found: Efficiency) -> Iterator[str]:
    gpu, number = found.gpu, found.usage.gpus
    if gpu is None or not number or not _is_covered(found):
        return
    if gpu.percent is not None and gpu.percent < IDLE_PERCENT and gpu.idle in (None, number):
        was, them = ("the GPU was", "it") if number == 1 else (f"all {number} GPUs were", "them")
        at_most = ""
        if gpu.source is GpuSource.ACCOUNTING:
            at_most = "at most "
        yield f"{was} idle ({at_most}{gpu.percent:.0f}% busy): does the program use {them}?"
    elif gpu.idle and gpu.idle < number:
        yield f"{gpu.idle} of {number} GPUs {'was' if gpu.idle == 1 else 'were'} idle"


def _is_covered(found: Efficiency) -> bool:
    measured_s = None
    if found.gpu:
        measured_s = found.gpu.measured_s
    return measured_s is None or measured_s >= _MIN_COVERAGE * (found.wall_s or 0.0)


def _enough(found: Efficiency) -> Iterator[str]:
    yield enough_memory(found.used_per_node, found.requested_per_node)
    yield enough_time(found.wall_s, found.limit_s)
    if (found.usage.nodes or 1) == 1 and found.cpu_share is not None:
        yield enough_cpus(found.cpu_share * (found.usage.cpus or 0), found.usage.cpus)


def enough_memory(used: float | None, requested: float | None) -> str:
    """Return the option for less memory per node (bytes) than requested; empty if that is not worthwhile."""
    if not used or not requested:
        return ""
    enough = _round_up_memory(used * _MEMORY_MARGIN)
    if enough > _WORTHWHILE * requested or requested - enough < _MIN_SAVED_BYTES:
        return ""
    return f"`--mem {_mem_option(enough)}`"


def more_memory(requested: float) -> str:
    """Return the option for half as much memory again (bytes)."""
    return f"`--mem {_mem_option(_round_up_memory(requested * _MORE_MEMORY))}`"


def _round_up_memory(size_bytes: float) -> int:
    """Return a size that a user would request: steps of 1, 4 or 16 GiB."""
    step = next(step for top, step in ((16, 1), (128, 4), (math.inf, 16)) if size_bytes <= top * _GIB)
    return math.ceil(size_bytes / (step * _GIB)) * step * _GIB


def _mem_option(size_bytes: float) -> str:
    whole_mib = math.ceil(size_bytes / 2**20)
    if whole_mib % 1024 == 0:
        return f"{whole_mib // 1024}G"
    return f"{whole_mib}M"


def enough_time(wall_s: float | None, limit_s: float | None) -> str:
    """Return the option for a shorter time limit; empty if that is not worthwhile."""
    if not wall_s or not limit_s:
        return ""
    needed_s = wall_s * _TIME_MARGIN
    step_s = 600 if needed_s <= _HOUR_S else _HOUR_S if needed_s <= _DAY_S / 2 else 4 * _HOUR_S
    enough_s = math.ceil(needed_s / step_s) * step_s
    if enough_s > _WORTHWHILE * limit_s or limit_s - enough_s < _MIN_SAVED_S:
        return ""
    days, rest = divmod(enough_s, _DAY_S)
    clock = f"{rest // _HOUR_S:02}:{rest % _HOUR_S // _MINUTE_S:02}:00"
    if days:
        return f"`--time {days}-{clock}`"
    return f"`--time {clock}`"


def enough_cpus(busy: float, cpus: int | None) -> str:
    """Return for how many of the requested CPUs there was work; empty if fewer are not worthwhile."""
    enough = max(1, math.ceil(busy * _CPU_MARGIN))
    if not cpus or enough > _WORTHWHILE * cpus:
        return ""
    return f"{enough} CPU{'s' if enough > 1 else ''} of {cpus}"


def efficiency_line(found: Efficiency) -> str:
    """Return one line for a message: CPUs, GPUs and what would have been enough; empty for a short run."""
    if (found.wall_s or 0.0) < MIN_RUN_S:
        return ""
    cpus = ""
    if found.cpu_share is not None:
        cpus = f"CPU {cpu_text(found)}"
    gpus = f"GPU {text}" if (text := gpu_text(found)) and not text.startswith(UNKNOWN) else ""
    hours = ""
    if found.gpu_hours:
        hours = f"{found.gpu_hours:.1f} GPU hours"
    return "; ".join(filter(None, (", ".join(filter(None, (cpus, gpus, hours))), savings(found))))


def time_text(found: Efficiency) -> str:
    """Return the share of the time limit, e.g. ``25% of 4h``; without a limit, the wall time."""
    if found.wall_s is None:
        return UNKNOWN
    if found.limit_s:
        return _of(found.limit_share, duration(found.limit_s))
    return duration(found.wall_s)


def cpu_text(found: Efficiency) -> str:
    """Return the share of the allocated CPUs, e.g. ``12% of 16``."""
    if found.usage.cpus:
        return _of(found.cpu_share, str(found.usage.cpus))
    return UNKNOWN


def memory_text(found: Efficiency) -> str:
    """Return the share of the allocated memory, e.g. ``10% of 32.0 GiB``."""
    requested = found.usage.requested_bytes
    if not requested:
        if found.usage.max_rss_bytes:
            return size(found.usage.max_rss_bytes)
        return UNKNOWN
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
    gpu_idle_hours: float | None  # below `IDLE_PERCENT`, as agents measured it


def totals(found: Sequence[Efficiency]) -> Totals:
    """Return the totals of runs; a share weighs each run by its allocated hours."""
    memory = [(each, (each.usage.requested_bytes or 0) * each.wall_s) for each in found if each.wall_s]
    means = list(_gpu_means(found))
    return Totals(
        len(found),
        _total((each.core_s for each in found), _HOUR_S),
        _weighted((each.cpu_share, each.core_s) for each in found),
        _total((byte_s or None for _, byte_s in memory), _GIB * _HOUR_S),
        _weighted((each.memory_share, byte_s) for each, byte_s in memory),
        _total((each.gpu_hours for each in found), 1),
        _weighted(means),
        sum(hours for _, hours in means),
        _total((each.gpu_idle_s for each in found if each.gpu_busy_s), _HOUR_S),
    )


def activity_text(runs: Iterable[Sequence[int]]) -> str:
    """Return which percentage of the GPU time was how busy, given `HistoryRecord.gpu_busy_s` of runs."""
    classes = [sum(of_class) for of_class in zip(*filter(None, runs), strict=False)]
    if not sum(classes):
        return ""
    shares = " ".join(f"{100 * each / sum(classes):.0f}" for each in classes)
    return f"{shares} (% of GPU time below 10, 20 ... 100%)"


def _gpu_means(found: Iterable[Efficiency]) -> Iterator[tuple[float, float]]:
    for each in found:
        if each.gpu and each.gpu.percent is not None and each.gpu.is_mean and each.gpu_hours:
            yield each.gpu.percent, each.gpu_hours


def _total(amounts: Iterable[float | None], unit: int) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    if known:
        return sum(known) / unit
    return None


def _weighted(pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    known = [(value, weight) for value, weight in pairs if value is not None and weight]
    weights = sum(weight for _, weight in known)
    if weights:
        return sum(value * weight for value, weight in known) / weights
    return None
