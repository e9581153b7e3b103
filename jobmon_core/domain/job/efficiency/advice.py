"""What would have been enough for a run, with a margin; nothing where the evidence is thin."""

from __future__ import annotations

import math
from collections.abc import Iterator

from jobmon_core.domain.job.efficiency.model import IDLE_PERCENT, Efficiency
from jobmon_core.domain.slurm.rows import GpuSource
from jobmon_core.domain.slurm.states import JobState

MIN_RUN_S = 600.0  # Slurm samples the memory every 30 s: a shorter run says little
_MEMORY_MARGIN = 1.25  # samples miss short peaks, and the next run may need a little more
_CPU_MARGIN = 1.5  # the mean hides peaks
_TIME_MARGIN = 1.5  # nodes and file systems differ from run to run
_WORTHWHILE = 0.6  # lower requests are advised only if this share would have been enough
_MIN_SAVED_BYTES = 2**30
_MIN_SAVED_S = 1800.0
_MIN_COVERAGE = 0.5  # of the run: if less was measured, nothing is said about its GPUs
_GIB = 2**30
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400


def advice(found: Efficiency) -> str:
    """Return one line of advice, e.g. ``--mem 12G would have been enough``; empty if there is none."""
    return "; ".join((*_too_little(found), *_savings(found)))


def savings(found: Efficiency) -> str:
    """Return only what speaks for requesting less; empty if nothing does."""
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
        enough = [text for text in (_memory(found), _time(found), _cpus(found)) if text]
        if enough:
            listed = " and ".join(filter(None, (", ".join(enough[:-1]), enough[-1])))
            yield f"{listed} would have been enough"


def _gpu_advice(found: Efficiency) -> Iterator[str]:
    gpu, number = found.gpu, found.usage.gpus
    if gpu is None or not number or not _is_covered(found):
        return
    if gpu.percent is not None and gpu.percent < IDLE_PERCENT and gpu.idle in (None, number):
        was, them = ("the GPU was", "it") if number == 1 else (f"all {number} GPUs were", "them")
        at_most = "at most " if gpu.source is GpuSource.ACCOUNTING else ""
        yield f"{was} idle ({at_most}{gpu.percent:.0f}% busy): does the program use {them}?"
    elif gpu.idle and gpu.idle < number:
        yield f"{gpu.idle} of {number} GPUs {'was' if gpu.idle == 1 else 'were'} idle"


def _is_covered(found: Efficiency) -> bool:
    measured_s = found.gpu.measured_s if found.gpu else None
    return measured_s is None or measured_s >= _MIN_COVERAGE * (found.wall_s or 0.0)


def _memory(found: Efficiency) -> str:
    used, requested = found.used_per_node, found.requested_per_node
    if not used or not requested:
        return ""
    enough = _round_up_memory(used * _MEMORY_MARGIN)
    if enough > _WORTHWHILE * requested or requested - enough < _MIN_SAVED_BYTES:
        return ""
    return f"`--mem {_mem_option(enough)}`"


def _round_up_memory(size_bytes: float) -> int:
    """Return a size that a user would request: steps of 1, 4 or 16 GiB."""
    step = next(step for top, step in ((16, 1), (128, 4), (math.inf, 16)) if size_bytes <= top * _GIB)
    return math.ceil(size_bytes / (step * _GIB)) * step * _GIB


def _mem_option(size_bytes: float) -> str:
    """Return a size as ``--mem`` takes it."""
    whole_mib = math.ceil(size_bytes / 2**20)
    return f"{whole_mib // 1024}G" if whole_mib % 1024 == 0 else f"{whole_mib}M"


def _time(found: Efficiency) -> str:
    wall_s, limit_s = found.wall_s, found.limit_s
    if not wall_s or not limit_s:
        return ""
    needed_s = wall_s * _TIME_MARGIN
    step_s = 600 if needed_s <= _HOUR_S else _HOUR_S if needed_s <= _DAY_S / 2 else 4 * _HOUR_S
    enough_s = math.ceil(needed_s / step_s) * step_s
    if enough_s > _WORTHWHILE * limit_s or limit_s - enough_s < _MIN_SAVED_S:
        return ""
    days, rest = divmod(enough_s, _DAY_S)
    clock = f"{rest // _HOUR_S:02}:{rest % _HOUR_S // _MINUTE_S:02}:00"
    return f"`--time {days}-{clock}`" if days else f"`--time {clock}`"


def _cpus(found: Efficiency) -> str:
    cpus, share = found.usage.cpus, found.cpu_share
    if not cpus or share is None or (found.usage.nodes or 1) > 1:
        return ""
    enough = max(1, math.ceil(share * cpus * _CPU_MARGIN))
    return "" if enough > _WORTHWHILE * cpus else f"{enough} CPU{'s' if enough > 1 else ''} of {cpus}"
