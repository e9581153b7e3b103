"""Rules about GPUs that report errors, are slowed down, or differ from the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jobmon_core.domain.humanize import duration
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.telemetry.model import Gpu
from jobmon_core.domain.node.triage.situation import Situation, XidError
from jobmon_core.domain.node.triage.windows import (
    GpuKey,
    gpu_average,
    gpu_keys,
    gpu_of,
    gpu_share,
    odd_one,
    utilization,
)

_LONG = 2  # times `must_last_s`
_ODD_PERCENT = 40.0  # of the time
_MOSTLY = 0.8  # of the time
_THROTTLED_SHARE = 0.5
_HARMLESS = ("power cap", "idle", "none")  # reasons to lower the clock that are no fault
_BROKEN = "Save your work, cancel the job, and report the node to its administrators."
_UNKNOWN = XidError("not described by jobmon", "Look it up in NVIDIA's list of Xid errors.")


def gpu_lost(situation: Situation) -> Event | None:
    """Find a GPU that the driver does not reach any more."""
    lost = [key for key in gpu_keys(situation) if _is(key, lambda gpu: gpu.is_lost)]
    if not lost:
        return None
    names = ", ".join(key.name(situation) for key in lost)
    return situation.finding(
        "gpu-lost",
        "A GPU is lost",
        f"the driver does not reach {names} any more",
        (f"{names}: lost",),
        _BROKEN,
        is_critical=True,
        is_permanent=True,
    )


def _is(key: GpuKey, condition: Callable[[Gpu], bool]) -> bool:
    gpu = gpu_of(key.node.latest, key.number)
    return gpu is not None and condition(gpu)


def xid_errors(situation: Situation) -> Event | None:
    """Find the error numbers that the driver reported; the text names a critical one, if there is any."""
    found = [
        (key, number, situation.xids.get(number, _UNKNOWN))
        for key in gpu_keys(situation)
        for number in dict.fromkeys((gpu_of(key.node.latest, key.number) or Gpu(key.number)).xids)
    ]
    if not found:
        return None
    key, number, error = next((each for each in found if each[2].is_critical), found[0])
    return situation.finding(
        "gpu-error",
        "A GPU reports an error",
        f"{key.name(situation)} reports Xid {number}: {error.title}",
        tuple(f"{each.name(situation)}: Xid {xid}, {about.title}" for each, xid, about in found),
        error.advice,
        is_critical=error.is_critical,
        is_permanent=True,
    )


def _risen(situation: Situation, figure: Callable[[Gpu], int | None]) -> Iterator[tuple[GpuKey, int, int]]:
    """Yield the GPUs of which a counter has risen, with its first and its latest value."""
    for key in gpu_keys(situation):
        gpus = [gpu_of(sample, key.number) for sample in key.node.samples]
        counts = [count for gpu in gpus if gpu and (count := figure(gpu)) is not None]
        if counts and counts[-1] > counts[0]:
            yield key, counts[0], counts[-1]


def ecc_errors(situation: Situation) -> Event | None:
    """Find memory errors of a GPU in this run that could not be corrected."""
    found = next(_risen(situation, lambda gpu: gpu.ecc_errors), None)
    if found is None:
        return None
    key, before, now = found
    return situation.finding(
        "gpu-memory-error",
        "Memory errors of a GPU",
        f"{key.name(situation)} had {now - before} memory errors that it could not correct",
        (f"{key.name(situation)}: uncorrected ECC errors {before} -> {now}",),
        f"Its results may be wrong. {_BROKEN}",
        is_critical=True,
        is_permanent=True,
    )


def worn_gpu(situation: Situation) -> Event | None:
    """Find a GPU that remaps rows of its memory, or whose links to other GPUs report errors."""
    counters: tuple[tuple[str, Callable[[Gpu], int | None]], ...] = (
        ("remapped rows", lambda gpu: gpu.remapped_rows),
        ("NVLink errors", lambda gpu: gpu.nvlink_errors),
    )
    for name, figure in counters:
        for key, before, now in _risen(situation, figure):
            return situation.finding(
                "gpu-worn",
                "A GPU may soon fail",
                f"{key.name(situation)} has {now - before} new {name}",
                (f"{key.name(situation)}: {name} {before} -> {now}",),
                "Report it to the administrators of the node.",
                is_quiet=True,
                is_permanent=True,
            )
    return None


def throttled_gpu(situation: Situation) -> Event | None:
    """Find a GPU that is slowed down for long, e.g. because it is too hot."""
    seconds = _LONG * situation.thresholds.must_last_s
    for key in gpu_keys(situation):
        slowed = gpu_share(key, situation.now_s, seconds, lambda each: bool(_reasons(each)))
        gpu = gpu_of(key.node.latest, key.number)
        if gpu is None or slowed is None or slowed < _THROTTLED_SHARE or not _reasons(gpu):
            continue
        heat = "" if gpu.temperature_c is None else f", {gpu.temperature_c:.0f} °C"
        return situation.finding(
            "gpu-throttled",
            "A GPU is slowed down",
            f"{key.name(situation)} is slowed down ({', '.join(_reasons(gpu))}{heat})",
            (f"slowed down {100 * slowed:.0f}% of the last {duration(seconds)}{heat}",),
            "Report the node to its administrators if this goes on: its cooling may be faulty.",
            lasting_s=seconds,
            is_quiet=True,
        )
    return None


def _reasons(gpu: Gpu) -> tuple[str, ...]:
    return tuple(reason for reason in gpu.throttle_reasons if reason not in _HARMLESS)


def odd_gpu(situation: Situation) -> Event | None:
    """Find the one GPU that computes far more or less than all others of the task."""
    seconds = _LONG * situation.thresholds.must_last_s
    keys = gpu_keys(situation)
    for name, figure in (("SMs busy", lambda gpu: gpu.sm_percent), ("busy", utilization)):
        means = [gpu_average(key, situation.now_s, seconds, figure) for key in keys]
        known = [mean for mean in means if mean is not None]
        index = odd_one(known, _ODD_PERCENT) if len(known) == len(keys) else None
        if situation.is_starting(seconds) or not situation.is_advancing or index is None:
            continue
        others = [mean for i, mean in enumerate(known) if i != index]
        usual = sum(others) / len(others)
        odd = keys[index].name(situation)
        return situation.finding(
            "odd-gpu",
            "One GPU differs from the others",
            f"{odd} is {known[index]:.0f}% busy, the others {usual:.0f}%",
            tuple(
                f"{key.name(situation)}: {name} {mean:.0f}%" for key, mean in zip(keys, known, strict=True)
            ),
            "Check whether its rank has more or less work, or the GPU is slower (`jobmon show JOBID`).",
            lasting_s=seconds,
            is_quiet=True,
        )
    return None


def shared_gpu(situation: Situation) -> Event | None:
    """Find a GPU that others use at the same time."""
    seconds = situation.thresholds.must_last_s
    for key in gpu_keys(situation):
        shared = gpu_share(key, situation.now_s, seconds, _is_shared)
        gpu = gpu_of(key.node.latest, key.number)
        if gpu is None or shared is None or shared < _MOSTLY or not gpu.other_processes:
            continue
        number = f"{gpu.other_processes} other {'process' if gpu.other_processes == 1 else 'processes'}"
        return situation.finding(
            "gpu-shared",
            "Others use the same GPU",
            f"{number} on {key.name(situation)} for over {duration(seconds)}",
            (f"{key.name(situation)}: {number}, {len(gpu.own_pids)} of this job",),
            "Is another job of yours there, or did the program choose a GPU by itself? It should use those "
            "that CUDA_VISIBLE_DEVICES names.",
            lasting_s=seconds,
            is_quiet=True,
        )
    return None


def _is_shared(gpu: Gpu) -> bool | None:
    return None if gpu.other_processes is None else gpu.other_processes > 0
