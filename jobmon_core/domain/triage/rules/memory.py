"""Rules about the memory of a task and of its GPUs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from jobmon_core.domain.humanize import size
from jobmon_core.domain.triage.rules.leaks import gpu_memory, memory_limit
from jobmon_core.domain.triage.situation import Situation, Verdict
from jobmon_core.domain.triage.windows import average, gpu_keys, gpu_of, window

_NEAR_LONG = 0.2  # times `must_last_s`
# a spike is so many times the usual memory, and exceeds the sample before it by this share of all memory
_SPIKE, _SPIKE_SHARE = 1.5, 0.1
_SPIKE_SAMPLES = 10


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
    """Find a task of which the kernel's OOM killer killed a process."""
    for node in situation.nodes:
        before: int | None = None
        for sample in node.samples:
            kills = sample.memory.oom_kills if sample.memory else None
            if kills is not None and before is not None and kills > before:
                return Verdict(
                    "oom-kill",
                    "A process was killed: out of memory",
                    f"the kernel killed {kills - before} of its processes because memory ran out",
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
        if found := _spike(situation, values, memory_limit(node), f"memory on {node.name}"):
            return found
    for key in gpu_keys(situation):
        gpu = gpu_of(key.node.latest, key.number)
        if found := _spike(
            situation, gpu_memory(key), gpu.memory_total if gpu else None, key.name(situation)
        ):
            return found
    return None


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
