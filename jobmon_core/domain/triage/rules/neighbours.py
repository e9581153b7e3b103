"""Rule about a node that other jobs fill."""

from __future__ import annotations

from typing import NamedTuple

from jobmon_core.domain.humanize import duration, size
from jobmon_core.domain.triage.situation import NodeView, Situation, Verdict
from jobmon_core.domain.triage.windows import Window, average, window

_LONG = 2  # times `must_last_s`: bursts of others are ordinary
_OWN_SHARE = 0.5  # of what is used on the node: with more, the job itself fills it


class _Full(NamedTuple):
    """What others fill, and the figures that show it."""

    text: str
    node: str
    job: str


def noisy_neighbour(situation: Situation) -> Verdict | None:
    """Find a node whose cores or memory are full with the work of others."""
    seconds = _LONG * situation.thresholds.must_last_s
    for node in situation.nodes:
        samples = window(node, situation.now_s, seconds)
        found = _cores_of_others(situation, node, samples) or _memory_of_others(situation, node, samples)
        if found:
            return Verdict(
                "noisy-neighbour",
                "The node is full with other work",
                found.text,
                situation.since_s("noisy-neighbour", situation.now_s - seconds),
                (f"node: {found.node} for {duration(seconds)}", f"this job: {found.job}"),
                "Ask for whole nodes (`--exclusive`), or exclude this node (`--exclude`) next time.",
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
        f"nearly all cores of {node.name} are busy, only {own / cores:.0f} % by this job",
        f"{whole:.0f} % of {cores} cores busy",
        f"{own / cores:.0f} %",
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
