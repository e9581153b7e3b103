"""Whether the nodes of a partition have what a job asks for: at all, and free now."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from jobmon_core.domain.before.pending.model import Node, PendingRequest
from jobmon_core.domain.humanize import count, size

_SILENT = "NOT_RESPONDING"  # a star in the state means the same, as in ``IDLE*+CLOUD``
# a node in one of these states takes no job
_UNUSABLE = {"DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "UNKNOWN", _SILENT}
_NODES_NAMED = 3


class Fit(NamedTuple):
    """How many nodes can take a job's share for one node."""

    ever: int  # once nothing else runs on usable ones
    now: int
    unusable: int  # that are down or drained, or do not respond
    if_usable: int  # of these, those that would have enough


def is_usable(node: Node) -> bool:
    """Neither down nor drained, and it responds."""
    return not _UNUSABLE & _parts(node.state)


def _parts(state: str) -> set[str]:
    """The base state and the flags, without the signs that Slurm appends."""
    names = {part.rstrip("*~#!%$@^-") for part in state.split("+")}
    return names | {_SILENT} if "*" in state else names


def fit_of(request: PendingRequest, nodes: Iterable[Node]) -> Fit:
    """As if the job spread evenly over its nodes."""
    ever = now = unusable = if_usable = 0
    for node in nodes:
        has_enough = _holds(request, node, only_free=False)
        if not is_usable(node):
            unusable += 1
            if_usable += has_enough
            continue
        ever += has_enough
        now += has_enough and _holds(request, node, only_free=True)
    return Fit(ever, now, unusable, if_usable)


def _holds(request: PendingRequest, node: Node, *, only_free: bool) -> bool:
    used_cpus, used_memory = (node.used_cpus, node.used_memory) if only_free else (0, 0)
    gpus = _gpus(node.gpus, request.gpu_type)
    gpus -= _gpus(node.used_gpus, request.gpu_type) if only_free else 0
    if request.is_exclusive and used_cpus:
        return False
    return (
        _share(request.cpus, request) <= node.cpus - used_cpus
        and _share(request.memory, request) <= node.memory - used_memory
        and _share(request.gpus, request) <= gpus
    )


def _share(total: int | None, request: PendingRequest) -> int:
    """What one node has to give; 0 if not known."""
    return math.ceil((total or 0) / max(1, request.nodes))


def _gpus(by_type: dict[str, int], gpu_type: str) -> int:
    return by_type.get(gpu_type, 0) if gpu_type else sum(by_type.values())


def request_text(request: PendingRequest) -> str:
    """``2 nodes with 8 GPUs, 32 CPUs and 64.0 GiB of memory in all``."""
    gpu = f"{request.gpu_type} GPU".strip()
    parts = [
        count(request.gpus, gpu) if request.gpus else "",
        count(request.cpus, "CPU") if request.cpus else "",
        f"{size(request.memory)} of memory" if request.memory else "",
    ]
    *most, last = [part for part in parts if part] or [""]
    listed = f"{', '.join(most)} and {last}" if most else last
    nodes = ("whole " if request.is_exclusive else "") + ("node" if request.nodes == 1 else "nodes")
    in_all = " in all" if request.nodes > 1 else ""
    return f"{request.nodes:,} {nodes}" + (f" with {listed}{in_all}" if listed else "")


def free_text(request: PendingRequest, nodes: Sequence[Node]) -> str:
    """What is free on the usable nodes: ``2 of 8 GPUs, 12 of 64 CPUs``."""
    up = [node for node in nodes if is_usable(node)]
    parts = []
    if request.gpus:
        total = sum(_gpus(node.gpus, request.gpu_type) for node in up)
        used = sum(_gpus(node.used_gpus, request.gpu_type) for node in up)
        parts.append(f"{total - used} of {total} {request.gpu_type} GPUs".replace("  ", " "))
    cpus, used_cpus = sum(node.cpus for node in up), sum(node.used_cpus for node in up)
    parts.append(f"{cpus - used_cpus:,} of {cpus:,} CPUs")
    memory, used_memory = sum(node.memory for node in up), sum(node.used_memory for node in up)
    parts.append(f"{size(memory - used_memory)} of {size(memory)} of memory")
    return ", ".join(parts)


def unusable_texts(nodes: Iterable[Node]) -> Iterator[str]:
    """A sentence for each of the first unusable nodes, then how many more there are."""
    found = [node for node in nodes if not is_usable(node)]
    for node in found[:_NODES_NAMED]:
        why = f": {node.why}" if node.why else ""
        yield f"{node.name} is {state_text(node.state)}{why}."
    more = len(found) - _NODES_NAMED
    if more > 0:
        verb = "takes" if more == 1 else "take"
        yield f"{count(more, 'more node')} {verb} no jobs: `sinfo -R` lists those that are down or drained."


def state_text(state: str) -> str:
    """In a word: ``drained`` for ``IDLE+DRAIN``."""
    flags = _parts(state)
    if flags & {"DOWN", "FAIL", "ERROR"}:
        return "down"
    if "DRAIN" in flags or "DRAINED" in flags:
        return "drained" if flags & {"IDLE", "DRAINED"} else "being drained"
    return "not responding" if _SILENT in flags else state.lower()
