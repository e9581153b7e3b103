"""Rules about GPUs, cores and nodes that would allow more than the program does."""

from __future__ import annotations

from typing import NamedTuple

from jobmon_core.domain.humanize import count, duration, size
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.telemetry.model import Gpu, Sample
from jobmon_core.domain.node.triage.situation import NodeView, Situation
from jobmon_core.domain.node.triage.windows import (
    GpuKey,
    Window,
    average,
    cpu_percents,
    gpu_average,
    gpu_keys,
    gpu_of,
    gpu_share,
    read_per_s,
    share,
    transferred_per_s,
    utilization,
    window,
    written_per_s,
)

_LONG = 2  # times `must_last_s`: speed varies, epochs end, and bursts of other jobs are ordinary
_GAPPY_LOWEST, _GAPPY_HIGHEST = 5.0, 80.0  # % busy, within a sample: bursts of work with gaps between
_MOSTLY = 0.6  # share of the time
_BUSY_CORES = 0.85  # share of the cores
_MB = 1e6
_READ_BYTES_PER_S = 1e6
_SAVING_INTERVALS, _SAVING_BYTES_PER_S = 3, 10e6
_CROWDED_CORES = 0.5  # cores used less than this are not crowded, unless `_MANY_RUNNABLE` threads want them
_MANY_THREADS = 8  # for each core: most of them must wait
_OWN_SHARE = 0.5  # of what is used on the node: with more, the job itself fills it
_MANY_RUNNABLE = 4  # threads for each core that compute or wait for it, whatever OMP_NUM_THREADS says


def starved_gpus(situation: Situation) -> Event | None:
    """Find GPUs that wait while the steps advance, and what they wait for."""
    seconds = _LONG * situation.thresholds.must_last_s
    keys, now_s = _used_gpus(situation), situation.now_s
    gpus = [gpu_average(key, now_s, seconds, utilization) for key in keys]
    known = [busy for busy in gpus if busy is not None]
    if situation.is_starting(seconds) or not situation.is_advancing or not known or len(known) < len(keys):
        return None
    busy = sum(known) / len(known)
    shares = [gpu_share(key, now_s, seconds, _gaps) or 0.0 for key in keys]
    is_gappy = busy < situation.thresholds.gpu_busy_percent and min(shares) >= _MOSTLY
    if busy >= situation.thresholds.gpu_low_percent and not is_gappy:
        return None
    kind, what, advice, sign = _reason(situation, seconds)
    return situation.finding(
        kind,
        f"The GPUs wait for {what}",
        f"its GPUs are busy {busy:.0f}% of the time{' in bursts' if is_gappy else ''}: they wait for {what}",
        (
            f"GPUs: busy {busy:.0f}% over the last {duration(seconds)}, while the steps advance",
            *sign,
        ),
        advice,
        lasting_s=seconds,
    )


def _used_gpus(situation: Situation) -> list[GpuKey]:
    """Return the GPUs that processes of the task hold; the program does not use the others at all."""
    keys = gpu_keys(situation)
    return [key for key in keys if (gpu := gpu_of(key.node.latest, key.number)) and gpu.own_pids]


def _gaps(gpu: Gpu) -> bool | None:
    """Whether a GPU worked in bursts, with gaps between them."""
    if gpu.is_mig or gpu.lowest_percent is None or gpu.highest_percent is None:
        return None
    return gpu.lowest_percent <= _GAPPY_LOWEST and gpu.highest_percent >= _GAPPY_HIGHEST


def _reason(situation: Situation, seconds: float) -> tuple[str, str, str, tuple[str, ...]]:
    """Return the name of the verdict, what the GPUs wait for, the advice, and the figure that shows it."""
    cpus = cpu_percents(situation, seconds)
    used, cores = sum(each for each, _ in cpus), sum(each for _, each in cpus)
    if cores and used >= _BUSY_CORES * 100 * cores:
        return (
            "cpu-preprocessing",
            "the CPU",
            "Ask for more cores, prepare the data beforehand, or move the preprocessing to the GPU.",
            (f"CPU: {used / 100:.1f} of {cores:g} cores busy",),
        )
    views = [(node, window(node, situation.now_s, seconds)) for node in situation.nodes]
    received = sum(average(of, lambda sample: sample.node.received_per_s) or 0.0 for _, of in views)
    read = sum(average(of, lambda sample: read_per_s(sample, 0.0)) or 0.0 for _, of in views)
    if received >= max(situation.thresholds.network_mb_per_s * _MB, read):
        return (
            "network-bound",
            "the network",
            "Copy the data to a local disk first, cache what was downloaded, or exchange less between nodes.",
            (f"network: {size(received)}/s received",),
        )
    waiting = _waiting_for_disks(situation, seconds)
    signs = [f"disks: {size(read)}/s read"] if read >= _READ_BYTES_PER_S else []
    return (
        "data-loading",
        "data",
        "Give the loader more workers (num_workers, prefetch_factor), or copy the data to a local disk.",
        (*signs, *waiting, *([f"CPU: {used / 100:.1f} of {cores:g} cores busy"] if cores else [])),
    )


def _waiting_for_disks(situation: Situation, seconds: float) -> tuple[str, ...]:
    waits = [
        average(window(node, situation.now_s, seconds), lambda sample: sample.node.io_wait_percent)
        for node in situation.nodes
    ]
    known = [wait for wait in waits if wait is not None]
    return (
        (f"disks: the CPUs wait for them {max(known):.0f}% of the time",)
        if max(known, default=0) >= 1
        else ()
    )


def checkpoint_overhead(situation: Situation) -> Event | None:
    """Find a program that spends much of its time saving checkpoints."""
    saved = situation.artifacts.checkpoints
    if situation.is_starting() or saved is None or not saved.interval_s or not gpu_keys(situation):
        return None
    seconds = max(_SAVING_INTERVALS * saved.interval_s, _LONG * situation.thresholds.must_last_s)
    low = situation.thresholds.gpu_low_percent

    def saves(sample: Sample) -> bool | None:
        known = [busy for gpu in sample.gpus if (busy := utilization(gpu)) is not None]
        if not known:
            return None
        return max(known) < low and written_per_s(sample, 0.0) >= _SAVING_BYTES_PER_S

    shares = [share(window(node, situation.now_s, seconds), saves) for node in situation.nodes]
    known = [each for each in shares if each is not None]
    if not known or 100 * max(known) < situation.thresholds.saving_percent:
        return None
    return situation.finding(
        "checkpoint-overhead",
        "Saving takes much of the time",
        f"spends {100 * max(known):.0f}% of its time saving checkpoints",
        (
            f"GPUs: idle while it writes for {100 * max(known):.0f}% of the last {duration(seconds)}",
            f"checkpoints: one every {duration(saved.interval_s)}",
        ),
        "Save less often, save asynchronously, or save to a faster disk.",
        lasting_s=seconds,
        is_quiet=True,
    )


def oversubscribed(situation: Situation) -> Event | None:
    """Find a task with far more threads than its cores can run."""
    seconds = situation.thresholds.must_last_s
    for node in situation.nodes:
        cpu, workers = node.latest.cpu, node.latest.workers
        of = window(node, situation.now_s, seconds)
        used = average(of, lambda sample: sample.cpu.used_percent if sample.cpu else None)
        if cpu is None or not cpu.cores or used is None:
            continue
        runnable = average(of, lambda sample: sample.cpu.runnable_threads if sample.cpu else None) or 0.0
        cores = max(1.0, cpu.cores)  # one thread is never too many, even for a share of a core
        by_running = runnable >= _MANY_RUNNABLE * cores
        if used < _CROWDED_CORES * 100 * cpu.cores and not by_running:
            continue
        threads = cpu.threads or sum(worker.threads + worker.children for worker in workers)
        wanted = sum(worker.omp_threads or 0 for worker in workers)
        throttled = average(of, lambda sample: sample.cpu.throttled_percent if sample.cpu else None) or 0.0
        allowed = situation.thresholds.threads_per_core * cores
        by_setting = wanted > allowed and threads > allowed
        by_throttling = (
            threads >= _MANY_THREADS * cores and throttled >= situation.thresholds.throttled_percent
        )
        if by_setting or by_throttling or by_running:
            limit = max(1, int(cpu.cores / max(1, len(workers))))
            return situation.finding(
                "thread-oversubscription",
                "Too many threads for its cores",
                f"{threads} threads and processes share {cpu.cores:g} cores",
                (
                    f"CPU: {used / 100:.1f} of {cpu.cores:g} cores busy over the last {duration(seconds)}",
                    *([f"threads that compute or wait for a core: {runnable:.0f}"] if runnable else []),
                    *([f"OMP_NUM_THREADS: {wanted} over {count(len(workers), 'worker')}"] if wanted else []),
                    *([f"CPU quota: held it back {throttled:.0f}% of the time"] if throttled >= 1 else []),
                ),
                f"Set OMP_NUM_THREADS={limit} (and MKL_NUM_THREADS) for each worker, or ask for more cores.",
                lasting_s=seconds,
            )
    return None


class _Full(NamedTuple):
    """What others fill, and the figures that show it."""

    text: str
    node: str
    job: str


def noisy_neighbour(situation: Situation) -> Event | None:
    """Find a node whose cores or memory are full with the work of others."""
    seconds = _LONG * situation.thresholds.must_last_s
    for node in situation.nodes:
        samples = window(node, situation.now_s, seconds)
        found = _cores_of_others(situation, node, samples) or _memory_of_others(situation, node, samples)
        if found:
            return situation.finding(
                "noisy-neighbour",
                "The node is full with other work",
                found.text,
                (f"node: {found.node} for {duration(seconds)}", f"this job: {found.job}"),
                "Ask for whole nodes (`--exclusive`), or exclude this node (`--exclude`) next time.",
                lasting_s=seconds,
                is_quiet=True,
            )
    return None


def _cores_of_others(situation: Situation, node: NodeView, samples: Window) -> _Full | None:
    """Return the cores of a node if others keep them busy."""
    cores = node.latest.node.cores
    whole = average(samples, lambda sample: sample.node.cpu_percent)
    own = average(samples, lambda sample: sample.cpu.used_percent if sample.cpu else None)
    if not cores or whole is None or own is None or whole < situation.thresholds.node_full_percent:
        return None
    if own / cores >= _OWN_SHARE * whole:
        return None
    return _Full(
        f"nearly all cores of {node.name} are busy, only {own / cores:.0f}% by this job",
        f"{whole:.0f}% of {cores} cores busy",
        f"{own / cores:.0f}%",
    )


def _memory_of_others(situation: Situation, node: NodeView, samples: Window) -> _Full | None:
    """Return the memory of a node if others fill it."""
    total = node.latest.node.memory_total
    available = average(samples, lambda sample: sample.node.memory_available)
    own = average(samples, lambda sample: sample.memory.used if sample.memory else None)
    if not total or available is None or own is None:
        return None
    used = total - available
    if 100 * used < situation.thresholds.node_full_percent * total or own >= _OWN_SHARE * used:
        return None
    return _Full(
        f"the memory of {node.name} is nearly full, only {size(int(own))} by this job",
        f"{size(int(used))} of {size(total)} of memory used",
        size(int(own)),
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
