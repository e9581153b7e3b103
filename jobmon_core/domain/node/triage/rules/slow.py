"""GPUs, cores and nodes that would allow more than the program does."""

from __future__ import annotations

from jobmon_core.domain.humanize import count, duration, size
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.telemetry.model import Cpu, Gpu, Sample
from jobmon_core.domain.node.triage.situation import NodeView, Situation
from jobmon_core.domain.node.triage.windows import (
    GpuView,
    Window,
    average,
    cpu_use,
    gpus_of,
    own_cpu,
    own_memory,
    read_per_s,
    transferred_per_s,
    utilization,
    window,
    windows,
    written_per_s,
)

_LONG = 2  # times `must_last_s`: speed varies, epochs end, and bursts of other jobs are ordinary
_GAPPY_LOWEST, _GAPPY_HIGHEST = 5.0, 80.0  # % busy, within a sample: bursts of work with gaps
_MOSTLY = 0.6  # share of the time
_BUSY_CORES = 0.85  # share of the cores
_MB = 1e6
_READ_BYTES_PER_S = 1e6
_SAVING_INTERVALS, _SAVING_BYTES_PER_S = 3, 10e6
_CROWDED_CORES = 0.5  # below this, cores are not crowded, unless `_MANY_RUNNABLE` threads want them
_MANY_THREADS = 8  # for each core: most of them must wait
_OWN_SHARE = 0.5  # of what is used on the node: with more, the job itself fills it
_MANY_RUNNABLE = 4  # for each core, whatever OMP_NUM_THREADS says


def starved_gpus(situation: Situation) -> Event | None:
    """GPUs wait while the steps advance, and for what."""
    seconds = _LONG * situation.thresholds.must_last_s
    gpus = [gpu for gpu in gpus_of(situation) if gpu.latest.own_pids]  # the program does not use the others
    known = [busy for gpu in gpus if (busy := gpu.average(seconds, utilization)) is not None]
    if situation.is_starting(seconds) or not situation.is_advancing or not known or len(known) < len(gpus):
        return None
    busy, how = sum(known) / len(known), ""
    shares = [gpu.average(seconds, _gaps) or 0.0 for gpu in gpus]
    if busy < situation.thresholds.gpu_busy_percent and min(shares) >= _MOSTLY:
        how = " in bursts"
    elif busy >= situation.thresholds.gpu_low_percent:
        return None
    kind, what, advice, sign = _reason(situation, seconds)
    return situation.finding(
        kind,
        f"The GPUs wait for {what}",
        f"its GPUs are busy {busy:.0f}% of the time{how}: they wait for {what}",
        (f"GPUs: busy {busy:.0f}% over the last {duration(seconds)}, while the steps advance", *sign),
        advice,
        lasting_s=seconds,
    )


def _gaps(gpu: Gpu) -> bool | None:
    if gpu.is_mig or gpu.lowest_percent is None or gpu.highest_percent is None:
        return None
    return gpu.lowest_percent <= _GAPPY_LOWEST and gpu.highest_percent >= _GAPPY_HIGHEST


def _reason(situation: Situation, seconds: float) -> tuple[str, str, str, list[str]]:
    used, cores = cpu_use(situation, seconds) or (0.0, 0.0)
    busy_cores = [f"CPU: {used / 100:.1f} of {cores:g} cores busy"] if cores else []
    if cores and used >= _BUSY_CORES * 100 * cores:
        advice = "Ask for more cores, prepare the data beforehand, or move the preprocessing to the GPU."
        return "cpu-preprocessing", "the CPU", advice, busy_cores
    found = windows(situation, seconds)
    received = sum(average(of, lambda sample: sample.node.received_per_s) or 0.0 for of in found)
    read = sum(average(of, read_per_s) or 0.0 for of in found)
    if received >= max(situation.thresholds.network_mb_per_s * _MB, read):
        advice = (
            "Copy the data to a local disk first, cache what was downloaded, or exchange less between nodes."
        )
        return "network-bound", "the network", advice, [f"network: {size(received)}/s received"]
    waited = max(average(of, lambda sample: sample.node.io_wait_percent) or 0.0 for of in found)
    signs = []
    if read >= _READ_BYTES_PER_S:
        signs.append(f"disks: {size(read)}/s read")
    if waited >= 1:
        signs.append(f"disks: the CPUs wait for them {waited:.0f}% of the time")
    advice = "Give the loader more workers (num_workers, prefetch_factor), or copy the data to a local disk."
    return "data-loading", "data", advice, signs + busy_cores


def checkpoint_overhead(situation: Situation) -> Event | None:
    """A program spends much of its time saving checkpoints."""
    saved = situation.artifacts.checkpoints
    if situation.is_starting() or saved is None or not saved.interval_s or not gpus_of(situation):
        return None
    seconds = max(_SAVING_INTERVALS * saved.interval_s, _LONG * situation.thresholds.must_last_s)
    low = situation.thresholds.gpu_low_percent

    def saves(sample: Sample) -> bool | None:
        known = [busy for gpu in sample.gpus if (busy := utilization(gpu)) is not None]
        if not known:
            return None
        return max(known) < low and written_per_s(sample) >= _SAVING_BYTES_PER_S

    known = [share for of in windows(situation, seconds) if (share := average(of, saves)) is not None]
    if not known or 100 * max(known) < situation.thresholds.saving_percent:
        return None
    percent = 100 * max(known)
    return situation.finding(
        "checkpoint-overhead",
        "Saving takes much of the time",
        f"spends {percent:.0f}% of its time saving checkpoints",
        (
            f"GPUs: idle while it writes for {percent:.0f}% of the last {duration(seconds)}",
            f"checkpoints: one every {duration(saved.interval_s)}",
        ),
        "Save less often, save asynchronously, or save to a faster disk.",
        lasting_s=seconds,
        is_quiet=True,
    )


def oversubscribed(situation: Situation) -> Event | None:
    """A task has far more threads than its cores can run."""
    for node in situation.nodes:
        of = window(node, situation.now_s, situation.thresholds.must_last_s)
        cpu, used = node.latest.cpu, average(of, own_cpu)
        if cpu and cpu.cores and used is not None and (found := _crowded(situation, node, of, cpu, used)):
            return found
    return None


def _runnable(sample: Sample) -> float | None:
    if sample.cpu:
        return sample.cpu.runnable_threads
    return None


def _throttled(sample: Sample) -> float | None:
    if sample.cpu:
        return sample.cpu.throttled_percent
    return None


def _crowded(situation: Situation, node: NodeView, of: Window, cpu: Cpu, used: float) -> Event | None:
    workers, thresholds = node.latest.workers, situation.thresholds
    runnable = average(of, _runnable) or 0.0
    throttled = average(of, _throttled) or 0.0
    cores = max(1.0, cpu.cores)  # one thread is never too many, even for a share of a core
    threads = cpu.threads or sum(worker.threads + worker.children for worker in workers)
    wanted = sum(worker.omp_threads or 0 for worker in workers)
    is_busy = used >= _CROWDED_CORES * 100 * cpu.cores
    by_running = runnable >= _MANY_RUNNABLE * cores
    by_setting = is_busy and min(wanted, threads) > thresholds.threads_per_core * cores
    by_throttling = is_busy and threads >= _MANY_THREADS * cores and throttled >= thresholds.throttled_percent
    if not (by_running or by_setting or by_throttling):
        return None
    over = duration(thresholds.must_last_s)
    figures = {
        f"CPU: {used / 100:.1f} of {cpu.cores:g} cores busy over the last {over}": True,
        f"threads that compute or wait for a core: {runnable:.0f}": runnable > 0,
        f"OMP_NUM_THREADS: {wanted} over {count(len(workers), 'worker')}": wanted > 0,
        f"CPU quota: held it back {throttled:.0f}% of the time": throttled >= 1,
    }
    limit = max(1, int(cpu.cores / max(1, len(workers))))
    return situation.finding(
        "thread-oversubscription",
        "Too many threads for its cores",
        f"{threads} threads and processes share {cpu.cores:g} cores",
        tuple(text for text, is_known in figures.items() if is_known),
        f"Set OMP_NUM_THREADS={limit} (and MKL_NUM_THREADS) for each worker, or ask for more cores.",
        lasting_s=thresholds.must_last_s,
    )


def noisy_neighbour(situation: Situation) -> Event | None:
    """The cores or the memory of a node are full with the work of others."""
    seconds = _LONG * situation.thresholds.must_last_s
    for node in situation.nodes:
        samples = window(node, situation.now_s, seconds)
        found = _cores_of_others(situation, node, samples) or _memory_of_others(situation, node, samples)
        if found:
            text, of_node, of_job = found
            return situation.finding(
                "noisy-neighbour",
                "The node is full with other work",
                text,
                (f"node: {of_node} for {duration(seconds)}", f"this job: {of_job}"),
                "Ask for whole nodes (`--exclusive`), or exclude this node (`--exclude`) next time.",
                lasting_s=seconds,
                is_quiet=True,
            )
    return None


def _cores_of_others(situation: Situation, node: NodeView, samples: Window) -> tuple[str, str, str] | None:
    cores = node.latest.node.cores
    whole = average(samples, lambda sample: sample.node.cpu_percent)
    own = average(samples, own_cpu)
    if not cores or whole is None or own is None or whole < situation.thresholds.node_full_percent:
        return None
    if own / cores >= _OWN_SHARE * whole:
        return None
    return (
        f"nearly all cores of {node.name} are busy, only {own / cores:.0f}% by this job",
        f"{whole:.0f}% of {cores} cores busy",
        f"{own / cores:.0f}%",
    )


def _memory_of_others(situation: Situation, node: NodeView, samples: Window) -> tuple[str, str, str] | None:
    total = node.latest.node.memory_total
    available = average(samples, lambda sample: sample.node.memory_available)
    own = average(samples, own_memory)
    if not total or available is None or own is None:
        return None
    used = total - available
    if 100 * used < situation.thresholds.node_full_percent * total or own >= _OWN_SHARE * used:
        return None
    return (
        f"the memory of {node.name} is nearly full, only {size(int(own))} by this job",
        f"{size(int(used))} of {size(total)} of memory used",
        size(int(own)),
    )


_IDLE_PERCENT = 1.0  # a mean over the whole `idle_s`
_IDLE_CPU_PERCENT = 50.0  # of one core
_STILL_BYTES_PER_S = 1e6
_FEW_GPU_HOURS = 0.05


def idle_allocation(situation: Situation) -> Event | None:
    """A task does nothing at all while it holds GPUs."""
    seconds, gpus = situation.thresholds.idle_s, gpus_of(situation)
    cpu, moved = cpu_use(situation, seconds), transferred_per_s(situation, seconds)
    if not gpus or len(_idle(situation)) < len(gpus) or cpu is None or moved is None:
        return None
    used, _ = cpu
    if situation.is_advancing or _has_advanced(situation, seconds):
        return None
    if situation.age_s < seconds or used > _IDLE_CPU_PERCENT or moved > _STILL_BYTES_PER_S:
        return None
    idle_s = situation.now_s - situation.since_s("idle-allocation", situation.now_s - seconds)
    what = "its GPU is" if len(gpus) == 1 else f"all {len(gpus)} GPUs are"
    return situation.finding(
        "idle-allocation",
        "The job does nothing",
        f"{what} idle for {duration(idle_s)}{_wasted(len(gpus) * idle_s / 3600)}",
        (*map(_used_memory, gpus), f"CPU: {used:.0f}% of one core over the last {duration(seconds)}"),
        "If nobody uses it, end it with `scancel JOBID`; if it should compute, look at its log.",
        lasting_s=idle_s,
        is_critical=True,
    )


def idle_gpu(situation: Situation) -> Event | None:
    """The task holds GPUs and does not use them; if all are idle, only if no process has opened one."""
    seconds, gpus = situation.thresholds.idle_s, gpus_of(situation)
    idle = _idle(situation)
    if not idle or situation.age_s < seconds:
        return None
    if len(idle) == len(gpus) and any(gpu.latest.own_pids for gpu in idle):
        return None  # another rule says what its program waits for
    idle_s = situation.now_s - situation.since_s("idle-gpu", situation.now_s - seconds)
    names = "its GPU" if len(gpus) == 1 else f"{len(idle)} of {len(gpus)} GPUs"
    return situation.finding(
        "idle-gpu",
        "GPUs held, but idle",
        f"{names} idle for {duration(idle_s)}{_wasted(len(idle) * idle_s / 3600)}",
        tuple(map(_used_memory, idle)),
        "Ask for fewer GPUs, or make the program use them: one process for each, chosen by its rank.",
        lasting_s=idle_s,
    )


def _has_advanced(situation: Situation, seconds: float) -> bool:
    """Whether the log shows progress, however slow."""
    samples = situation.history.samples
    return bool(samples) and situation.now_s - samples[-1].at_s <= seconds


def _wasted(gpu_hours: float) -> str:
    """Return nothing for GPU hours that round to none."""
    if gpu_hours >= _FEW_GPU_HOURS:
        return f": {gpu_hours:.1f} GPU hours wasted so far"
    return ""


def _idle(situation: Situation) -> list[GpuView]:
    seconds = situation.thresholds.idle_s
    found = []
    for gpu in gpus_of(situation):
        mean = gpu.average(seconds, utilization)
        if mean is not None and mean <= _IDLE_PERCENT and not _ever_worked(gpu, seconds):
            found.append(gpu)
    return found


def _ever_worked(gpu: GpuView, seconds: float) -> bool:
    """Whether any sample shows work; short bursts, e.g. of a server between requests, hide in a mean."""
    for _, sample in window(gpu.node, gpu.situation.now_s, seconds):
        for each in sample.gpus:
            highest = max(each.highest_percent or 0.0, each.utilization_percent or 0.0)
            if each.index == gpu.latest.index and highest > 5 * _IDLE_PERCENT:
                return True
    return False


def _used_memory(gpu: GpuView) -> str:
    number = len(gpu.latest.own_pids)
    held = "used by none of its processes"
    if number:
        held = f"memory held by {number} of its processes"
    return f"{gpu.name}: idle, {held}"
