"""Parse ``scontrol -o show partition`` and ``show node``. Never raises."""

from __future__ import annotations

import re

from jobmon_core.domain.pending.model import Node, Partition
from jobmon_core.scheduler.slurm import values
from jobmon_core.scheduler.slurm.site import key_values
from jobmon_core.scheduler.slurm.site.gpus import gpus_of

_MEGABYTE = 1024**2
# up to who set it, and when, or to the keys that may follow
_WHY = re.compile(r" Reason=(.*?)(?= \[[^\[\]]*@[^\[\]]*\]| Comment=| Extra=|\s*$)")


def read_partitions(text: str) -> tuple[Partition, ...]:
    """Parse all partitions."""
    return tuple(map(_partition, key_values.records(text, "PartitionName")))


def _partition(record: str) -> Partition:
    return Partition(
        name=key_values.value(record, "PartitionName"),
        state=key_values.value(record, "State"),
        nodes=key_values.value(record, "Nodes"),
        total_nodes=values.number(key_values.value(record, "TotalNodes")),
        max_nodes=values.number(key_values.value(record, "MaxNodes")),
        max_time_s=values.limit_s(key_values.value(record, "MaxTime")),
        qos=key_values.value(record, "QoS"),
    )


def read_nodes(text: str) -> tuple[Node, ...]:
    """Parse all nodes."""
    return tuple(map(_node, key_values.records(text, "NodeName")))


def _node(record: str) -> Node:
    why = _WHY.search(record)
    # Slurm before 22.05 has no CPUEfctv
    usable_cpus = key_values.value(record, "CPUEfctv") or key_values.value(record, "CPUTot")
    return Node(
        name=key_values.value(record, "NodeName"),
        state=key_values.value(record, "State"),
        why=why[1] if why else "",
        cpus=values.number(usable_cpus) or 0,
        used_cpus=_number(record, "CPUAlloc"),
        memory=_number(record, "RealMemory") * _MEGABYTE,
        used_memory=_number(record, "AllocMem") * _MEGABYTE,
        gpus=gpus_of(key_values.value(record, "Gres")),
        used_gpus=gpus_of(key_values.value(record, "GresUsed")),
        features=key_values.values(record, "ActiveFeatures"),
    )


def _number(record: str, key: str) -> int:
    return values.number(key_values.value(record, key)) or 0
