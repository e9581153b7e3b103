"""What a Ray cluster has and what its tasks hold, as `ray status` prints it.

Source: the text of ``ray status`` and of ``/api/cluster_status?format=1`` of Ray 2.9 to 2.60.
"""

from __future__ import annotations

import re

from jobmon_core.domain.health.cluster_resources import ClusterResources

_HELD = re.compile(r"^\s*(\d+(?:\.\d+)?)/(\d+(?:\.\d+)?) (CPU|GPU)\b", re.MULTILINE)
_WAITING = re.compile(r"^\s*(\{.*\}(?: \* \d+)?[^\n]*: \d+\+? pending [^\n]*)$", re.MULTILINE)


def parse_usage(text: str) -> ClusterResources | None:
    """Return the resources; None if the text does not say them. Without a line about GPUs, it has none."""
    found: dict[str, tuple[float, float]] = {}
    for held, total, kind in _HELD.findall(text):
        found.setdefault(kind, (float(held), float(total)))  # the first is that of the whole cluster
    if "CPU" not in found and "GPU" not in found:
        return None
    gpus_held, gpus = found.get("GPU", (0.0, 0.0))
    cpus_held, cpus = found.get("CPU", (None, None))
    waiting = tuple(line.strip() for line in _WAITING.findall(text))
    return ClusterResources(gpus, gpus_held, cpus, cpus_held, waiting)
