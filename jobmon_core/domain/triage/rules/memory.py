"""Rules about the memory of a task and of its GPUs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from jobmon_core.domain.humanize import duration, size
from jobmon_core.domain.triage.situation import NodeView, Situation, Verdict
from jobmon_core.domain.triage.windows import GpuKey, average, gpu_keys, gpu_of, window

_LEAK_LONG = 6  # times `must_last_s`: memory that a program fills once grows for a while
_LEAK_POINTS, _LEAK_SPAN = 8, 0.8  # at least so many, over so much of that time
_LEAK_FIT = 0.9  # least share of the variance of the memory that a straight line explains
_LEAK_STEADY = 0.7  # of the average growth: memory that fills up grows ever slower
_LEAK_GROWTH = 0.005  # of the limit, in that time: less may be noise; it would be full in days
_NEAR_LONG = 0.2  # times `must_last_s`
_SPIKE, _SPIKE_SHARE = 1.5, 0.1  # times the usual memory, and more by this share of all memory
_SPIKE_SAMPLES = 10


class Growth(NamedTuple):
    """A steady growth of memory."""

    bytes_per_s: float
    since_s: float
    grown: float  # bytes


def memory_leak(situation: Situation) -> Verdict | None:
    """Find memory that grows steadily, and say when its limit is reached."""
    for node in situation.nodes:
        memory, limit = node.latest.memory, _limit_of(node)
        growth = _growth(situation, node)
        if memory is None or not limit or growth is None or growth.grown < _LEAK_GROWTH * limit:
            continue
        left_s = max(0.0, (limit - memory.used) / growth.bytes_per_s)
        ends_s = _ends_s(situation)
        if left_s > situation.thresholds.memory_full_within_s:
            continue
        is_fatal = ends_s is None or situation.now_s + left_s < ends_s
        return Verdict(
            "memory-leak",
            "The memory grows steadily",
            f"its memory grows by {size(growth.bytes_per_s * 3600)}/h: "
            + (f"full in {duration(left_s)}" if is_fatal else "it will end before the memory is full"),
            situation.since_s("memory-leak", growth.since_s),
            (
                f"memory on {node.name}: {size(memory.used)} of {size(limit)}",
                f"growth: {size(growth.grown)} in {duration(situation.now_s - growth.since_s)}",
            ),
            "Something keeps what is no longer needed, e.g. a list of losses with their graphs (append "
            "loss.item()), a cache without a bound, or loader workers that copy large lists.",
            is_critical=is_fatal,
            is_quiet=not (is_fatal and situation.is_advancing),  # else it may still load its data
        )
    return None


def _limit_of(node: NodeView) -> int | None:
    memory = node.latest.memory
    return (memory.limit if memory else None) or node.latest.node.memory_total


def _ends_s(situation: Situation) -> float | None:
    """Return when the task ends, as far as its estimate and its time limit say; None if neither is known."""
    remaining_s = situation.estimate.longest_s
    known = [situation.limit_s, None if remaining_s is None else situation.now_s + remaining_s]
    return min((each for each in known if each is not None), default=None)


def _growth(situation: Situation, node: NodeView) -> Growth | None:
    """Return how the memory grows on a node; None unless that is steady over the last half hour or so."""
    seconds = _LEAK_LONG * situation.thresholds.must_last_s
    begin_s = max(situation.now_s - seconds, situation.started_s + situation.thresholds.startup_s)
    of = window(node, situation.now_s, seconds)
    points = [
        (part.sample.at_s, float(part.sample.memory.used))
        for part in of
        if part.sample.memory and part.sample.at_s >= begin_s
    ]
    if len(points) < _LEAK_POINTS or points[-1][0] - points[0][0] < _LEAK_SPAN * seconds:
        return None
    per_s = _steady_slope(points)
    if per_s is None:
        return None
    return Growth(per_s, points[0][0], points[-1][1] - points[0][1])


def _steady_slope(points: Sequence[tuple[float, float]]) -> float | None:
    """Return the slope of a line through points that rise steadily; None if they do not."""
    times, values = zip(*points, strict=True)
    if len(set(times)) < _LEAK_POINTS or len(set(values)) < _LEAK_POINTS / 2:
        return None
    slope = statistics.linear_regression(times, values).slope
    late = points[-len(points) // 3 :]
    late_slope = statistics.linear_regression(*zip(*late, strict=True)).slope
    is_line = statistics.correlation(times, values) ** 2 >= _LEAK_FIT
    return slope if slope > 0 and is_line and late_slope >= _LEAK_STEADY * slope else None


def memory_near_limit(situation: Situation) -> Verdict | None:
    """Find a task that has nearly used up its memory."""
    seconds = _NEAR_LONG * situation.thresholds.must_last_s
    for node in situation.nodes:
        memory = node.latest.memory
        used = average(
            window(node, situation.now_s, seconds),
            lambda sample: sample.memory.used if sample.memory else None,
        )
        if memory is None or not memory.limit or used is None:
            continue
        percent = 100 * min(used, memory.used) / memory.limit  # also now, not only before
        if percent >= situation.thresholds.memory_percent:
            return Verdict(
                "memory-near-limit",
                "Nearly out of memory",
                f"has used {percent:.0f} % of its memory ({size(memory.used)} of {size(memory.limit)})",
                situation.since_s("memory-near-limit", situation.now_s - seconds),
                (f"memory on {node.name}: {size(memory.used)} of {size(memory.limit)} ({memory.source})",),
                "Beyond the limit the kernel kills it. Ask for more (`--mem`), or use fewer loader workers.",
                is_critical=True,
            )
    return None


def oom_kill(situation: Situation) -> Verdict | None:
    """Find that the kernel killed a process of the task for want of memory."""
    for node in situation.nodes:
        before: int | None = None
        for sample in node.samples:
            kills = sample.memory.oom_kills if sample.memory else None
            if kills is not None and before is not None and kills > before:
                return Verdict(
                    "oom-kill",
                    "A process was killed: out of memory",
                    f"the kernel killed {kills - before} of its processes for want of memory",
                    situation.since_s("oom-kill", sample.at_s),
                    (f"oom_kill on {node.name}: {before} -> {kills}",),
                    "Ask for more memory (`--mem`), or lower the number of loader workers or the batch size. "
                    "What is left of the program may wait for the killed process for ever.",
                    is_critical=True,
                    is_permanent=True,
                )
            before = kills if kills is not None else before
    return None


def memory_spike(situation: Situation) -> Verdict | None:
    """Find memory of the task, or of one of its GPUs, that is suddenly far above its usual level."""
    for node in situation.nodes:
        values = [(sample.at_s, sample.memory.used) for sample in node.samples if sample.memory]
        if found := _spike(situation, values, _limit_of(node), f"memory on {node.name}"):
            return found
    for key in gpu_keys(situation):
        gpu = gpu_of(key.node.latest, key.number)
        if found := _spike(
            situation, _gpu_memory(key), gpu.memory_total if gpu else None, key.name(situation)
        ):
            return found
    return None


def _gpu_memory(key: GpuKey) -> list[tuple[float, int]]:
    gpus = [(sample.at_s, gpu_of(sample, key.number)) for sample in key.node.samples]
    return [(at_s, gpu.memory) for at_s, gpu in gpus if gpu and gpu.memory is not None]


def _spike(
    situation: Situation, values: Sequence[tuple[float, int]], total: int | None, name: str
) -> Verdict | None:
    if len(values) <= _SPIKE_SAMPLES or not total or situation.is_starting():
        return None
    (at_s, now), usual = values[-1], statistics.median(value for _, value in values[:-1])
    is_sudden = now - values[-2][1] >= _SPIKE_SHARE * total
    if not is_sudden or now < _SPIKE * usual:
        return None
    return Verdict(
        "memory-spike",
        "A jump in memory",
        f"{name} jumped to {size(now)} (usually {size(usual)})",
        at_s,
        (f"{name}: {size(now)} of {size(total)}, usually {size(usual)}",),
        is_quiet=True,
    )
