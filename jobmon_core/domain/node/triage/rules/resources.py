"""Memory and disks that are nearly used up, or grow steadily."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from jobmon_core.domain.artifacts.disk import Disk
from jobmon_core.domain.humanize import count, duration, size
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.triage.situation import NodeView, Situation
from jobmon_core.domain.node.triage.windows import GpuView, average, gpus_of, own_memory, window

_NEAR_LONG = 0.2  # times `must_last_s`
# a spike is so many times the usual memory, and exceeds the sample before it by this share of all
_SPIKE, _SPIKE_SHARE = 1.5, 0.1
_SPIKE_SAMPLES = 10
_LEAK_LONG = 6  # times `must_last_s`: memory that is filled once grows for a while
_LEAK_POINTS, _LEAK_SPAN = 8, 0.8  # so many samples, over so much of that time
_LEAK_FIT = 0.9  # share of the variance that a straight line explains
_LEAK_STEADY = 0.7  # of the average growth, in the last third: memory that fills up grows ever slower
_LEAK_GROWTH = 0.005  # of the limit, in that time: less may be noise, and takes days to fill the memory


def memory_near_limit(situation: Situation) -> Event | None:
    """A task has nearly used up its memory."""
    seconds = _NEAR_LONG * situation.thresholds.must_last_s
    for node in situation.nodes:
        memory = node.latest.memory
        used = average(window(node, situation.now_s, seconds), own_memory)
        if memory is None or not memory.limit or used is None:
            continue
        percent = 100 * min(used, memory.used) / memory.limit  # also now
        if percent >= situation.thresholds.memory_percent:
            return situation.finding(
                "memory-near-limit",
                "Nearly out of memory",
                f"has used {percent:.0f}% of its memory ({size(memory.used)} of {size(memory.limit)})",
                (f"memory on {node.name}: {size(memory.used)} of {size(memory.limit)} ({memory.source})",),
                "Beyond the limit the kernel kills it. Ask for more (`--mem`), or use fewer loader workers.",
                lasting_s=seconds,
                is_critical=True,
            )
    return None


def oom_kill(situation: Situation) -> Event | None:
    """The kernel's OOM killer killed a process of the task."""
    for node in situation.nodes:
        before: int | None = None
        for sample in node.samples:
            kills = None
            if sample.memory:
                kills = sample.memory.oom_kills
            if kills is not None and before is not None and kills > before:
                return situation.finding(
                    "oom-kill",
                    "A process was killed: out of memory",
                    f"the kernel killed {kills - before} of its processes because memory ran out",
                    (f"oom_kill on {node.name}: {before} -> {kills}",),
                    "Ask for more memory (`--mem`), or lower the number of loader workers or the batch size. "
                    "What is left of the program may wait for the killed process for ever.",
                    lasting_s=situation.now_s - sample.at_s,
                    is_critical=True,
                    is_permanent=True,
                )
            before = kills if kills is not None else before
    return None


def memory_spike(situation: Situation) -> Event | None:
    """Memory of the task, or of one of its GPUs, is suddenly far above its usual level."""
    for node in situation.nodes:
        values = [(sample.at_s, sample.memory.used) for sample in node.samples if sample.memory]
        if found := _spike(situation, values, memory_limit(node), f"memory on {node.name}"):
            return found
    for gpu in gpus_of(situation):
        if found := _spike(situation, gpu_memory(gpu), gpu.latest.memory_total, gpu.name):
            return found
    return None


def _spike(
    situation: Situation, values: Sequence[tuple[float, int]], total: int | None, name: str
) -> Event | None:
    if len(values) <= _SPIKE_SAMPLES or not total or situation.is_starting():
        return None
    (at_s, now), usual = values[-1], statistics.median(value for _, value in values[:-1])
    is_sudden = now - values[-2][1] >= _SPIKE_SHARE * total
    if not is_sudden or now < _SPIKE * usual:
        return None
    return situation.finding(
        "memory-spike",
        "A jump in memory",
        f"{name} jumped to {size(now)} (usually {size(usual)})",
        (f"{name}: {size(now)} of {size(total)}, usually {size(usual)}",),
        lasting_s=situation.now_s - at_s,
        is_quiet=True,
    )


def memory_leak(situation: Situation) -> Event | None:
    """Memory grows steadily."""
    for node in situation.nodes:
        memory, limit = node.latest.memory, memory_limit(node)
        if memory is None or not limit:
            continue
        points = [
            (sample.at_s, float(sample.memory.used))
            for _, sample in window(node, situation.now_s, _seconds(situation))
            if sample.memory
        ]
        leak = situation.finding(
            "memory-leak",
            "The memory grows steadily",
            "its memory",
            (f"memory on {node.name}: {size(memory.used)} of {size(limit)}",),
            "Something keeps what is no longer needed, e.g. a list of losses with their graphs (append "
            "loss.item()), a cache without a bound, or loader workers that copy large lists.",
        )
        if found := _judged(leak, situation, points, limit):
            return found
    return None


def gpu_memory_leak(situation: Situation) -> Event | None:
    """Memory of a GPU that only the task uses grows steadily."""
    for gpu in gpus_of(situation):
        used, total, name = gpu.latest.memory, gpu.latest.memory_total, gpu.name
        if used is None or not total or gpu.latest.other_processes != 0:
            continue
        since_s = situation.now_s - _seconds(situation)
        points = [(at_s, float(memory)) for at_s, memory in gpu_memory(gpu) if at_s > since_s]
        leak = situation.finding(
            "gpu-memory-leak",
            "The memory of a GPU grows steadily",
            f"the memory of {name}",
            (f"{name}: {size(used)} of {size(total)}",),
            "Something keeps tensors that are no longer needed, e.g. a list of losses or outputs with their "
            "graphs (append loss.item(), or .detach().cpu()), or a step without torch.no_grad() in an "
            "evaluation.",
        )
        if found := _judged(leak, situation, points, total):
            return found
    return None


def gpu_memory(gpu: GpuView) -> list[tuple[float, int]]:
    """Return the used memory of a GPU, with the times."""
    return [(at_s, each.memory) for at_s, each in gpu.series if each.memory is not None]


def memory_limit(node: NodeView) -> int | None:
    """Return the limit of a task on a node, else all memory of the node."""
    memory = node.latest.memory
    return (memory.limit if memory else None) or node.latest.node.memory_total


def _judged(
    leak: Event, situation: Situation, points: Sequence[tuple[float, float]], limit: int
) -> Event | None:
    """Return None if ``points`` (times, bytes in use) show no leak, or one that is too slow.

    ``leak`` is the verdict without the growth; its text names the memory.
    """
    points = _after_start(situation, points)
    per_s = _steady_slope(points) if points else None
    if per_s is None:
        return None
    (since_s, first), (_, used) = points[0], points[-1]
    if used - first < _LEAK_GROWTH * limit:
        return None
    left_s = max(0.0, (limit - used) / per_s)
    if left_s > situation.thresholds.memory_full_within_s:
        return None
    ends_s = _ends_s(situation)
    is_fatal = ends_s is None or situation.now_s + left_s < ends_s
    outlook = "it will end before the memory is full"
    if is_fatal:
        outlook = f"full in {duration(left_s)}"
    return replace(
        leak,
        text=f"{leak.text} grows by {size(per_s * 3600)}/h: {outlook}",
        lasting_s=(situation.now_s - situation.since_s(leak.name, since_s),),
        evidence=(*leak.evidence, f"growth: {size(used - first)} in {duration(situation.now_s - since_s)}"),
        is_critical=is_fatal,
        is_quiet=not (is_fatal and situation.is_advancing),  # else it may still load its data
    )


def _ends_s(situation: Situation) -> float | None:
    """Return when the task ends, by its estimate and its time limit."""
    remaining_s = situation.estimate.longest_s
    known = [situation.limit_s, None if remaining_s is None else situation.now_s + remaining_s]
    return min((each for each in known if each is not None), default=None)


def _seconds(situation: Situation) -> float:
    """Return for how long memory must grow, about half an hour."""
    return _LEAK_LONG * situation.thresholds.must_last_s


def _after_start(
    situation: Situation, points: Sequence[tuple[float, float]]
) -> Sequence[tuple[float, float]]:
    """Return no points if they are too few, or cover too little time."""
    seconds = _seconds(situation)
    begin_s = max(situation.now_s - seconds, situation.started_s + situation.thresholds.startup_s)
    points = [point for point in points if point[0] >= begin_s]
    if len(points) < _LEAK_POINTS or points[-1][0] - points[0][0] < _LEAK_SPAN * seconds:
        return ()
    return points


def _steady_slope(points: Sequence[tuple[float, float]]) -> float | None:
    """Return the slope of a line through points that rise steadily."""
    times, values = zip(*points, strict=True)
    if len(set(times)) < _LEAK_POINTS or len(set(values)) < _LEAK_POINTS / 2:
        return None
    slope = statistics.linear_regression(times, values).slope
    late = points[-len(points) // 3 :]
    late_slope = statistics.linear_regression(*zip(*late, strict=True)).slope
    is_line = statistics.correlation(times, values) ** 2 >= _LEAK_FIT
    if slope > 0 and is_line and late_slope >= _LEAK_STEADY * slope:
        return slope
    return None


_HORIZON_S, _URGENT_S = 86_400.0, 3600.0
_GB_BYTES = 2**30
_SMALL_INODES = 100_000  # a large disk with more free is not full
_LONG = 2  # times `must_last_s`: so much of the past tells how fast a disk fills
_POINTS, _PARTS = 6, 3  # so many samples in that time, which is split into so many parts
_STEADY = 0.3  # of the average speed, in each part
_PERCENT = 100.0


class _Room(NamedTuple):
    path: str
    text: str
    is_low: bool
    full_in_s: float  # at its present speed


def disk_full(situation: Situation) -> Event | None:
    """A disk is nearly full, or will be within a day and before the time limit of the task."""
    horizon_s = _HORIZON_S
    if situation.limit_s is not None:
        horizon_s = min(_HORIZON_S, situation.limit_s - situation.now_s)
    rooms = [
        room
        for node in situation.nodes
        for disk in node.latest.disks
        for room in _left(situation, node, disk)
        if room.is_low or room.full_in_s <= horizon_s
    ]
    found = rooms or _named_folders(situation)
    if not found:
        return None
    worst = min(found, key=lambda room: (not room.is_low, room.full_in_s))
    when = "" if math.isinf(worst.full_in_s) else f", full in {duration(worst.full_in_s)}"
    return situation.finding(
        "disk-full",
        "A disk is nearly full",
        f"{worst.text} on {worst.path}{when}",
        tuple(dict.fromkeys(f"{room.path}: {room.text}" for room in found)),
        "Remove old checkpoints or other files there, or write elsewhere, before a save fails.",
        is_critical=worst.is_low or worst.full_in_s <= _URGENT_S,
    )


def _left(situation: Situation, node: NodeView, disk: Disk) -> Iterator[_Room]:
    series = [_series(node, disk.path, lambda each: each.free_bytes)]
    series.append(_series(node, disk.path, lambda each: each.free_inodes) if disk.total_inodes else [])
    for (text, is_low), points in zip(_figures(situation, disk), series, strict=True):
        yield _Room(disk.path, text, is_low, _full_in_s(situation, points))


def _figures(situation: Situation, disk: Disk) -> Iterator[tuple[str, bool]]:
    thresholds = situation.thresholds
    bytes_text = f"{size(disk.free_bytes)} ({{:.1f}}%) free"
    inodes_text = f"{count(disk.free_inodes, 'inode')} ({{:.1f}}%) free for further files"
    kinds = (
        (disk.free_bytes, disk.total_bytes, thresholds.disk_free_gb * _GB_BYTES, bytes_text),
        (disk.free_inodes, disk.total_inodes, _SMALL_INODES, inodes_text),
    )
    for free, total, small, text in kinds:
        percent = _PERCENT * free / total if total else _PERCENT
        yield text.format(percent), percent < thresholds.disk_free_percent and free < small


def _series(node: NodeView, path: str, figure: Callable[[Disk], int]) -> list[tuple[float, int]]:
    return [
        (sample.at_s, figure(disk)) for sample in node.samples for disk in sample.disks if disk.path == path
    ]


def _full_in_s(situation: Situation, series: Sequence[tuple[float, int]]) -> float:
    """Return when a disk is full; infinite unless it fills steadily, not by single saves."""
    seconds = _LONG * situation.thresholds.must_last_s
    points = [(at_s, left) for at_s, left in series if at_s >= situation.now_s - seconds]
    if len(points) < _POINTS or points[-1][0] - points[0][0] < seconds / 2:
        return math.inf
    per_s = (points[0][1] - points[-1][1]) / (points[-1][0] - points[0][0])
    bounds = [index * (len(points) - 1) // _PARTS for index in range(_PARTS + 1)]
    parts = [
        (points[begin][1] - points[end][1]) / (points[end][0] - points[begin][0])
        for begin, end in pairwise(bounds)
        if points[end][0] > points[begin][0]
    ]
    if per_s <= 0 or len(parts) < _PARTS or min(parts) < _STEADY * per_s:
        return math.inf
    return points[-1][1] / per_s


def _named_folders(situation: Situation) -> list[_Room]:
    """Judge the disk of the outputs or checkpoints, which needs no agent."""
    disk, folder = situation.artifacts.disk, situation.artifacts.folder
    if disk is None or not folder:
        return []
    figures = _figures(situation, disk)
    return [_Room(folder, text, is_low=True, full_in_s=math.inf) for text, is_low in figures if is_low]
