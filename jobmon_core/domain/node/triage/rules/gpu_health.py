"""GPUs that report errors, are slowed down, or differ from the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.telemetry.model import Gpu
from jobmon_core.domain.node.triage.situation import Situation
from jobmon_core.domain.node.triage.windows import GpuView, all_known, gpus_of, odd_one, utilization

_LONG = 2  # times `must_last_s`
_ODD_PERCENT = 40.0  # of the time
_MOSTLY = 0.8  # of the time
_THROTTLED_SHARE = 0.5
_HARMLESS = ("power cap", "idle", "none")  # to lower the clock
_BROKEN = "Save your work, cancel the job, and report the node to its administrators."
_UNKNOWN = Finding(title="not described by jobmon", advice="Look it up in NVIDIA's list of Xid errors.")


def gpu_lost(situation: Situation) -> Event | None:
    """The driver does not reach a GPU any more."""
    names = ", ".join(gpu.name for gpu in gpus_of(situation) if gpu.latest.is_lost)
    if not names:
        return None
    return situation.finding(
        "gpu-lost",
        "A GPU is lost",
        f"the driver does not reach {names} any more",
        (f"{names}: lost",),
        _BROKEN,
        is_critical=True,
        is_permanent=True,
    )


def xid_errors(situation: Situation) -> Event | None:
    """The driver reported error numbers; the text names a critical one first."""
    found = [
        (gpu.name, number, situation.xids.get(number, _UNKNOWN))
        for gpu in gpus_of(situation)
        for number in dict.fromkeys(gpu.latest.xids)
    ]
    if not found:
        return None
    name, number, error = next((each for each in found if each[2].severity is Severity.CRITICAL), found[0])
    return situation.finding(
        "gpu-error",
        "A GPU reports an error",
        f"{name} reports Xid {number}: {error.title}",
        tuple(f"{each}: Xid {xid}, {about.title}" for each, xid, about in found),
        error.advice,
        is_critical=error.severity is Severity.CRITICAL,
        is_permanent=True,
    )


def _risen(situation: Situation, figure: Callable[[Gpu], int | None]) -> Iterator[tuple[GpuView, int, int]]:
    for gpu in gpus_of(situation):
        counts = [count for _, each in gpu.series if (count := figure(each)) is not None]
        if counts and counts[-1] > counts[0]:
            yield gpu, counts[0], counts[-1]


def ecc_errors(situation: Situation) -> Event | None:
    """Memory errors of a GPU in this run could not be corrected."""
    for gpu, before, now in _risen(situation, lambda gpu: gpu.ecc_errors):
        return situation.finding(
            "gpu-memory-error",
            "Memory errors of a GPU",
            f"{gpu.name} had {now - before} memory errors that it could not correct",
            (f"{gpu.name}: uncorrected ECC errors {before} -> {now}",),
            f"Its results may be wrong. {_BROKEN}",
            is_critical=True,
            is_permanent=True,
        )
    return None


def worn_gpu(situation: Situation) -> Event | None:
    """A GPU remaps rows of its memory, or its links to other GPUs report errors."""
    counters: tuple[tuple[str, Callable[[Gpu], int | None]], ...] = (
        ("remapped rows", lambda gpu: gpu.remapped_rows),
        ("NVLink errors", lambda gpu: gpu.nvlink_errors),
    )
    for name, figure in counters:
        for gpu, before, now in _risen(situation, figure):
            return situation.finding(
                "gpu-worn",
                "A GPU may soon fail",
                f"{gpu.name} has {now - before} new {name}",
                (f"{gpu.name}: {name} {before} -> {now}",),
                "Report it to the administrators of the node.",
                is_quiet=True,
                is_permanent=True,
            )
    return None


def throttled_gpu(situation: Situation) -> Event | None:
    """A GPU is slowed down for long, e.g. because it is too hot."""
    seconds = _LONG * situation.thresholds.must_last_s
    for gpu in gpus_of(situation):
        reasons = _reasons(gpu.latest)
        slowed = gpu.average(seconds, lambda each: bool(_reasons(each))) or 0.0
        if not reasons or slowed < _THROTTLED_SHARE:
            continue
        celsius = gpu.latest.temperature_c
        heat = "" if celsius is None else f", {celsius:.0f} °C"
        return situation.finding(
            "gpu-throttled",
            "A GPU is slowed down",
            f"{gpu.name} is slowed down ({', '.join(reasons)}{heat})",
            (f"slowed down {100 * slowed:.0f}% of the last {duration(seconds)}{heat}",),
            "Report the node to its administrators if this goes on: its cooling may be faulty.",
            lasting_s=seconds,
            is_quiet=True,
        )
    return None


def _reasons(gpu: Gpu) -> list[str]:
    return [reason for reason in gpu.throttle_reasons if reason not in _HARMLESS]


def odd_gpu(situation: Situation) -> Event | None:
    """One GPU computes far more or less than all others of the task."""
    seconds = _LONG * situation.thresholds.must_last_s
    if situation.is_starting(seconds) or not situation.is_advancing:
        return None
    gpus = gpus_of(situation)
    for name, figure in (("SMs busy", lambda gpu: gpu.sm_percent), ("busy", utilization)):
        means = all_known([gpu.average(seconds, figure) for gpu in gpus])
        index = odd_one(means, _ODD_PERCENT)
        if index is None:
            continue
        odd = means[index]
        usual = (sum(means) - odd) / (len(means) - 1)
        return situation.finding(
            "odd-gpu",
            "One GPU differs from the others",
            f"{gpus[index].name} is {odd:.0f}% busy, the others {usual:.0f}%",
            tuple(f"{gpu.name}: {name} {mean:.0f}%" for gpu, mean in zip(gpus, means, strict=True)),
            "Check whether its rank has more or less work, or the GPU is slower (`jobmon show JOBID`).",
            lasting_s=seconds,
            is_quiet=True,
        )
    return None


def shared_gpu(situation: Situation) -> Event | None:
    """Others use a GPU at the same time."""
    seconds = situation.thresholds.must_last_s
    for gpu in gpus_of(situation):
        others = gpu.latest.other_processes
        if not others or (gpu.average(seconds, _is_shared) or 0.0) < _MOSTLY:
            continue
        number = f"{others} other {'process' if others == 1 else 'processes'}"
        return situation.finding(
            "gpu-shared",
            "Others use the same GPU",
            f"{number} on {gpu.name} for over {duration(seconds)}",
            (f"{gpu.name}: {number}, {len(gpu.latest.own_pids)} of this job",),
            "Is another job of yours there, or did the program choose a GPU by itself? It should use those "
            "that CUDA_VISIBLE_DEVICES names.",
            lasting_s=seconds,
            is_quiet=True,
        )
    return None


def _is_shared(gpu: Gpu) -> bool | None:
    if gpu.other_processes is None:
        return None
    return gpu.other_processes > 0
