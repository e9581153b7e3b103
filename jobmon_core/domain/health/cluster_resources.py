"""The resources of a cluster with a scheduler of its own, such as Ray, and what its tasks hold of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClusterResources:
    """GPUs and CPUs of a whole cluster as its own scheduler counts them, e.g. Ray's ``GPU`` and ``CPU``.

    A held GPU is one that a task or actor asked for; it may still be idle. None means "not known".
    """

    gpus: float | None = None  # all that the cluster has; 0 if it has none
    gpus_held: float | None = None
    cpus: float | None = None
    cpus_held: float | None = None
    waiting: tuple[str, ...] = ()  # what cannot be placed yet, e.g. "{'GPU': 4.0}: 2+ pending tasks"
