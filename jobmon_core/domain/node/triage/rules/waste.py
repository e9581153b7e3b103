"""Rules about GPUs that a task holds and does not use."""

from __future__ import annotations

from jobmon_core.domain.humanize import duration
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.telemetry.model import Gpu
from jobmon_core.domain.node.triage.situation import Situation
from jobmon_core.domain.node.triage.windows import (
    GpuKey,
    cpu_percents,
    gpu_average,
    gpu_keys,
    gpu_of,
    transferred_per_s,
    utilization,
    window,
)

_IDLE_PERCENT = 1.0  # of the time; a mean over the whole `idle_s`
_IDLE_CPU_PERCENT = 50.0  # of one core
_STILL_BYTES_PER_S = 1e6
_FEW_GPU_HOURS = 0.05


def idle_allocation(situation: Situation) -> Event | None:
    """Find a task that does nothing at all while it holds GPUs."""
    seconds, keys = situation.thresholds.idle_s, gpu_keys(situation)
    idle = _idle(situation)
    cpus = cpu_percents(situation, seconds)
    used = sum(percent for percent, _ in cpus)
    moved = transferred_per_s(situation, seconds)
    if not keys or len(idle) < len(keys) or not cpus or moved is None:
        return None
    if situation.is_advancing or _has_advanced(situation, seconds):
        return None
    if situation.age_s < seconds or used > _IDLE_CPU_PERCENT or moved > _STILL_BYTES_PER_S:
        return None
    since_s = situation.since_s("idle-allocation", situation.now_s - seconds)
    idle_s = situation.now_s - since_s
    gpus = "its GPU is" if len(keys) == 1 else f"all {len(keys)} GPUs are"
    return situation.finding(
        "idle-allocation",
        "The job does nothing",
        f"{gpus} idle for {duration(idle_s)}{_wasted(len(keys) * idle_s / 3600)}",
        (
            *(f"{key.name(situation)}: {_used_memory(key)}" for key in keys),
            f"CPU: {used:.0f}% of one core over the last {duration(seconds)}",
        ),
        "If nobody uses it, end it with `scancel JOBID`; if it should compute, look at its log.",
        lasting_s=situation.now_s - since_s,
        is_critical=True,
    )


def idle_gpu(situation: Situation) -> Event | None:
    """Find GPUs that the task holds and does not use; if all are idle, only if no process has opened one."""
    seconds, keys = situation.thresholds.idle_s, gpu_keys(situation)
    idle = _idle(situation)
    if not idle or situation.age_s < seconds:
        return None
    if len(idle) == len(keys) and any(_is_held(key) for key in idle):
        return None  # its program uses them: another rule says what they wait for
    since_s = situation.since_s("idle-gpu", situation.now_s - seconds)
    idle_s = situation.now_s - since_s
    names = "its GPU" if len(keys) == 1 else f"{len(idle)} of {len(keys)} GPUs"
    return situation.finding(
        "idle-gpu",
        "GPUs held, but idle",
        f"{names} idle for {duration(idle_s)}{_wasted(len(idle) * idle_s / 3600)}",
        tuple(f"{key.name(situation)}: {_used_memory(key)}" for key in idle),
        "Ask for fewer GPUs, or make the program use them: one process for each, chosen by its rank.",
        lasting_s=situation.now_s - since_s,
    )


def _has_advanced(situation: Situation, seconds: float) -> bool:
    """Whether the log shows progress in the last ``seconds``, however slow."""
    samples = situation.history.samples
    return bool(samples) and situation.now_s - samples[-1].at_s <= seconds


def _wasted(gpu_hours: float) -> str:
    """Return what a message adds about lost GPU hours; empty if they round to none."""
    return f": {gpu_hours:.1f} GPU hours wasted so far" if gpu_hours >= _FEW_GPU_HOURS else ""


def _idle(situation: Situation) -> list[GpuKey]:
    """Return the GPUs that were idle for `Thresholds.idle_s`."""
    seconds = situation.thresholds.idle_s
    means = [(key, gpu_average(key, situation.now_s, seconds, utilization)) for key in gpu_keys(situation)]
    return [
        key
        for key, mean in means
        if mean is not None and mean <= _IDLE_PERCENT and not _ever_worked(key, situation.now_s, seconds)
    ]


def _ever_worked(key: GpuKey, now_s: float, seconds: float) -> bool:
    """Whether any sample shows work; short bursts, e.g. of a server between requests, hide in a mean."""
    parts = window(key.node, now_s, seconds)
    gpus = [gpu_of(part.sample, key.number) for part in parts]
    highest = [max(gpu.highest_percent or 0.0, gpu.utilization_percent or 0.0) for gpu in gpus if gpu]
    return max(highest, default=0.0) > 5 * _IDLE_PERCENT


def _is_held(key: GpuKey) -> bool:
    return bool((gpu_of(key.node.latest, key.number) or Gpu(key.number)).own_pids)


def _used_memory(key: GpuKey) -> str:
    gpu = gpu_of(key.node.latest, key.number) or Gpu(key.number)
    number = len(gpu.own_pids)
    held = f"memory held by {number} of its processes" if number else "used by none of its processes"
    return f"idle, {held}"
