"""Programs that do not go on, or do not show that they do."""

from __future__ import annotations

from typing import NamedTuple

from jobmon_core.domain.humanize import count, duration, size
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.telemetry.model import Worker
from jobmon_core.domain.node.telemetry.summary import SPINNING_PERCENT, power_share
from jobmon_core.domain.node.triage.situation import NodeView, Situation
from jobmon_core.domain.node.triage.stacks import compare
from jobmon_core.domain.node.triage.windows import (
    GpuView,
    cpu_use,
    gpus_of,
    odd_one,
    transferred_per_s,
    utilization,
    utilizations,
    worker_average,
)

_BUSY_PERCENT = 80.0  # of one core, on average of the workers

IDLE_GPU_PERCENT = 5.0
_LOW_SM_PERCENT = 30.0
_BUSY_CPU_PERCENT = 80.0  # of one core
STILL_BYTES_PER_S = 100e3
_ODD_PERCENT = 60.0  # a rank that differs from all others by more is not where they are
_MIN_RANKS = 2
_MANY_INTERVALS = 3  # times the usual time between two checkpoints: then saving counts as stopped
_LONGER_THAN_BEFORE = 1.5  # times for which the outputs grew
_MAX_RANKS = 16
_STACKS = "`jobmon diagnose JOBID --stacks` shows where each rank is. "
_ENDLESS_COLLECTIVE = (
    "Probably all ranks wait in a collective operation that cannot end; cancel and restart it."
)
_ENDLESS_KERNEL = "Probably it waits for a GPU kernel that does not end; cancel and restart it."


def block_buffered(situation: Situation) -> Event | None:
    """A Python program works, but its log is silent: its output waits in a buffer."""
    idle_s = situation.log_idle_s
    if idle_s is None or not _is_silent(situation, idle_s) or not _may_buffer(situation):
        return None
    signs = _signs_of_writing(situation)
    writes = bool(signs)
    if not situation.has_output and not writes:
        signs = _signs_of_computing(situation)
    if not signs:
        return None
    log = "its log is empty"
    if situation.has_output:
        log = "its log has not grown"
    return situation.finding(
        "block-buffered-output",
        "Output held in a buffer",
        f"{log} for {duration(idle_s)}, but the program works: {signs[0]}",
        (f"log: no output for {duration(idle_s)}", *signs),
        "Run `python -u`, or set PYTHONUNBUFFERED=1: then each line is in the log at once.",
        lasting_s=idle_s,
        is_quiet=not (writes and situation.workers),  # what prints nothing, or is not Python, looks the same
    )


def _is_silent(situation: Situation, idle_s: float) -> bool:
    """Whether the log is silent for longer than by chance: some programs print once an hour."""
    if situation.history.samples:
        return situation.pause_s is not None
    wanted = situation.thresholds
    return idle_s >= (wanted.idle_s if situation.has_output else 2 * wanted.must_last_s)


def _may_buffer(situation: Situation) -> bool:
    programs = [worker.name for _, worker in situation.workers if worker.name]
    pythons = [program for program in programs if "python" in program]
    return not programs or any(" -u" not in f" {program}" for program in pythons)


def _signs_of_writing(situation: Situation) -> tuple[str, ...]:
    written_s, idle_s = situation.outputs_idle_s, situation.log_idle_s or 0.0
    is_new = written_s is not None and written_s + situation.thresholds.must_last_s <= idle_s
    if written_s is not None and is_new:
        return (f"outputs: written {duration(written_s)} ago",)
    return ()


def _signs_of_computing(situation: Situation) -> tuple[str, ...]:
    seconds = situation.thresholds.must_last_s
    gpus = utilizations(situation, seconds)
    if gpus and max(gpus) >= situation.thresholds.gpu_busy_percent:
        return (f"GPUs: busy {max(gpus):.0f}% of the last {duration(seconds)}",)
    used, _ = cpu_use(situation, seconds) or (0.0, 0.0)
    if used >= _BUSY_CPU_PERCENT:
        return (f"CPU: {used / 100:.1f} cores busy over the last {duration(seconds)}",)
    return ()


def stacks_at_stall(situation: Situation) -> Event | None:
    """Where the processes were when the task stalled, and which rank did not arrive."""
    taken = situation.stacks
    if taken is None or not (taken.stacks or taken.problems):
        return None
    (what, odd), known = compare(taken.stacks), [stack for stack in taken.stacks if stack.frames]
    known.sort(key=lambda stack: stack.name not in odd)
    problems = [f"no stack: {problem}" for problem in taken.problems]
    if not known:
        text = f"where its processes are is not known: {taken.problems[0] if taken.problems else 'no stack'}"
    else:
        text = what or f"{known[0].name} is at {known[0].frames[0]}"
    return situation.finding(
        "stacks-at-stall",
        "A rank did not arrive" if odd else "Where its processes are",
        f"no progress; {text}",
        (
            *(f"{stack.name} on {stack.node}: {stack.frames[0]}" for stack in known[:_MAX_RANKS]),
            *problems,
            *([f"flight recorder: {', '.join(taken.dumps)}"] if taken.dumps else []),
        ),
        _STACKS if known else "",
        is_critical=bool(odd),
        is_quiet=not known,
    )


class _Place(NamedTuple):
    name: str
    busy_percent: float
    writes: bool = False  # e.g. a checkpoint, while the others wait


def collective_stuck(situation: Situation) -> Event | None:
    """One rank does something else than all others, which wait for it."""
    pause_s = situation.pause_s
    if pause_s is None:
        return None
    places = _gpu_places(situation) or _worker_places(situation)
    index = odd_one([place.busy_percent for place in places], _ODD_PERCENT)
    if index is None or any(place.writes for place in places):
        return None
    odd, others = places[index], [place for i, place in enumerate(places) if i != index]
    usual = sum(place.busy_percent for place in others) / len(others)
    doing = "is busy alone"
    if odd.busy_percent < usual:
        doing = "is idle"
    return situation.finding(
        "collective-stuck",
        "One rank holds up the others",
        f"no progress for {duration(pause_s)}: {odd.name} {doing}, the other {len(others)} wait",
        (
            f"{odd.name}: busy {odd.busy_percent:.0f}%",
            *(f"{place.name}: busy {place.busy_percent:.0f}%" for place in others),
        ),
        _STACKS + "All ranks must call the same collective operations in the same order.",
        lasting_s=pause_s,
        is_critical=True,
    )


def _gpu_places(situation: Situation) -> list[_Place]:
    seconds = situation.thresholds.must_last_s
    places = []
    for gpu in gpus_of(situation):
        busy = gpu.average(seconds, utilization)
        owner = next((each for each in gpu.node.latest.workers if gpu.latest.index in each.gpus), None)
        if busy is None or owner is None:
            return []
        name = f"{worker_name(situation, gpu.node, owner)} ({gpu.name})"
        places.append(_Place(name, busy, _is_writing(situation, gpu.node, owner)))
    return places


def _worker_places(situation: Situation) -> list[_Place]:
    seconds = situation.thresholds.must_last_s
    places = []
    for node, worker in situation.living_workers:
        busy = worker_average(situation, node, worker, seconds, lambda each: each.cpu_percent)
        if busy is None:
            return []
        name = worker_name(situation, node, worker)
        places.append(_Place(name, min(busy, 100.0), _is_writing(situation, node, worker)))
    return places


def _is_writing(situation: Situation, node: NodeView, worker: Worker) -> bool:
    seconds = situation.thresholds.must_last_s
    rate = worker_average(situation, node, worker, seconds, lambda each: each.written_per_s)
    return rate is not None and rate >= STILL_BYTES_PER_S


def worker_name(situation: Situation, node: NodeView, worker: Worker) -> str:
    """Return the rank, else the PID; with the node, if there are several."""
    name = f"process {worker.pid}" if worker.rank is None else f"rank {worker.rank}"
    if len(situation.nodes) > 1:
        return f"{name} on {node.name}"
    return name


def gpu_hang(situation: Situation) -> Event | None:
    """GPUs run a kernel all the time and compute nothing, e.g. in a dead collective operation."""
    pause_s, seconds = situation.standstill_s, situation.thresholds.must_last_s
    gpus = utilizations(situation, seconds)
    if pause_s is None or not gpus or min(gpus) < SPINNING_PERCENT:
        return None
    signs = [_low_work(gpu, seconds) for gpu in gpus_of(situation)]
    if not all(signs):
        return None
    return situation.finding(
        "gpu-hang",
        "GPUs busy without progress",
        f"no progress for {duration(pause_s)}, but its GPUs are {min(gpus):.0f}% busy at {signs[0]}",
        (
            f"log and progress: nothing new for {duration(pause_s)}",
            *(
                f"{gpu.name}: {busy:.0f}% busy, {sign}"
                for gpu, busy, sign in zip(gpus_of(situation), gpus, signs, strict=True)
            ),
        ),
        _STACKS + (_ENDLESS_COLLECTIVE if len(situation.living_workers) > 1 else _ENDLESS_KERNEL),
        lasting_s=pause_s,
        is_critical=True,
    )


def _low_work(gpu: GpuView, seconds: float) -> str:
    """Return the figure that shows that a busy GPU computes little."""
    sm = gpu.average(seconds, lambda each: each.sm_percent)
    if sm is not None:
        if sm < _LOW_SM_PERCENT:
            return f"{sm:.0f}% of its SMs"
        return ""
    power = gpu.average(seconds, power_share)
    if power is None or 100 * power >= gpu.situation.thresholds.low_power_percent:
        return ""
    return f"{100 * power:.0f}% of its power limit"


def deadlock(situation: Situation) -> Event | None:
    """All workers of a program are idle, although its work is not done."""
    pause_s, seconds = situation.standstill_s, situation.thresholds.must_last_s
    cpu, workers = cpu_use(situation, seconds), len(situation.living_workers)
    gpus = utilizations(situation, seconds)
    if pause_s is None or cpu is None or not workers or (gpus_of(situation) and not gpus):
        return None
    if situation.pause_s is None and not _has_ranks(situation):  # e.g. a server that nobody uses
        return None
    used, _ = cpu
    moved = transferred_per_s(situation, seconds)
    is_idle = (
        used < situation.thresholds.idle_cpu_percent * workers and max(gpus, default=0.0) < IDLE_GPU_PERCENT
    )
    if not is_idle or moved is None or moved > STILL_BYTES_PER_S:
        return None
    return situation.finding(
        "deadlock",
        "All processes are idle",
        f"no progress for {duration(pause_s)}, and everything is idle",
        (
            f"log and progress: nothing new for {duration(pause_s)}",
            f"CPU: {used:.0f}% of one core by {count(workers, 'worker')} over the last {duration(seconds)}",
            f"disks: {size(moved)}/s",
            *([f"GPUs: busy {max(gpus):.0f}%"] if gpus else []),
        ),
        _STACKS + "Its processes probably wait for each other, a lock, a queue or the network.",
        lasting_s=pause_s,
        is_critical=True,
    )


def _has_ranks(situation: Situation) -> bool:
    return sum(worker.rank is not None for _, worker in situation.living_workers) >= _MIN_RANKS


def outputs_stopped(situation: Situation) -> Event | None:
    """GPUs are busy, and results are not saved any more."""
    seconds = situation.thresholds.must_last_s
    gpus = utilizations(situation, seconds)
    idle_s, usual = situation.outputs_idle_s, _usual_saving(situation)
    if not gpus or min(gpus) < situation.thresholds.gpu_busy_percent or idle_s is None or usual is None:
        return None
    if idle_s < max(usual.longest_s, 2 * seconds):
        return None
    return situation.finding(
        "outputs-stopped",
        "No results are saved any more",
        f"nothing was saved for {duration(idle_s)}, although its GPUs are {min(gpus):.0f}% busy",
        (
            f"{usual.what}: the latest {duration(idle_s)} ago, {usual.text}",
            f"GPUs: busy {min(gpus):.0f}% of the last {duration(seconds)}",
        ),
        "Check the permissions and the free space of its output folder, and what its log says about saving.",
        lasting_s=idle_s - usual.longest_s / _MANY_INTERVALS,
        is_quiet=usual.is_guess,
    )


class _Saving(NamedTuple):
    what: str
    text: str
    longest_s: float  # a longer time without a save is a sign of trouble
    is_guess: bool = False


def _usual_saving(situation: Situation) -> _Saving | None:
    """Return how often a task saves its checkpoints, or writes to its outputs.

    Of outputs, only the latest growth is known. If they grew for some time before, they should grow again
    within one and a half times as long.
    """
    saved, outputs = situation.artifacts.checkpoints, situation.artifacts.outputs
    if saved is not None and saved.interval_s:
        text = f"usually one every {duration(saved.interval_s)}"
        return _Saving("checkpoints", text, _MANY_INTERVALS * saved.interval_s)
    grew_for_s = 0.0 if outputs is None else outputs.total.modified_s - situation.started_s
    if outputs is None or not outputs.total.bytes_per_s or grew_for_s < situation.thresholds.idle_s:
        return None
    text = f"they grew for {duration(grew_for_s)} before"
    return _Saving("outputs", text, _LONGER_THAN_BEFORE * grew_for_s, is_guess=True)


def endless_loop(situation: Situation) -> Event | None:
    """Progress has stopped while the workers keep a core each busy on average."""
    pause_s, seconds = situation.pause_s, situation.thresholds.must_last_s
    cpu = cpu_use(situation, seconds)
    gpus = utilizations(situation, seconds)
    moved = transferred_per_s(situation, seconds)
    workers = len(situation.living_workers)
    if pause_s is None or cpu is None or not workers or moved is None or moved > STILL_BYTES_PER_S:
        return None
    used, _ = cpu
    if used < _BUSY_PERCENT * workers or max(gpus, default=0.0) >= IDLE_GPU_PERCENT:
        return None
    if gpus_of(situation) and not gpus:  # they may compute
        return None
    return situation.finding(
        "endless-loop",
        "Busy without progress",
        f"no progress for {duration(pause_s)}, although its processes compute",
        (
            f"log and progress: nothing new for {duration(pause_s)}",
            f"CPU: {used / 100:.1f} cores busy over the last {duration(seconds)}",
            f"disks: {size(moved)}/s",
        ),
        "`jobmon diagnose JOBID --stacks` shows where it is: in an endless loop, in one long step, or in a "
        "wait that keeps a core busy, as that of MPI does.",
        lasting_s=pause_s,
        is_quiet=True,  # the message about the stall is sent anyway
    )
