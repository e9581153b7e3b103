"""The GPUs of a Ray cluster, as Ray's own agents on its nodes measure them.

Source: ``gpus`` of the nodes in ``/nodes?view=summary`` of Ray 2.9 to 2.60; sizes are in MiB there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from jobmon_core.domain.node.health.pods import GpuProcess
from jobmon_core.domain.node.telemetry.model import Gpu

_MIB = 2**20
_MAX = 1e15  # of any number here; NaN is not below it


def parse_node_gpus(
    entries: Iterable[Mapping[str, object]],
) -> tuple[tuple[Gpu, ...], tuple[GpuProcess, ...]]:
    """Return the GPUs and the processes on them; entries that cannot be read are skipped."""
    gpus, processes = [], []
    for entry in entries:
        index, uuid = _number(entry, "index"), entry.get("uuid")
        if index is None or not isinstance(uuid, str):
            continue
        used, total = (_number(entry, name, name.lower()) for name in ("memoryUsed", "memoryTotal"))
        utilization = _number(entry, "utilizationGpu", "utilization_gpu")
        gpus.append(
            Gpu(
                int(index),
                uuid,
                utilization_percent=utilization,
                memory=_bytes(used),
                memory_total=_bytes(total),
            )
        )
        found = entry.get("processesPids") or entry.get("processes_pids")
        for each in found if isinstance(found, list) else ():
            pid = _number(each, "pid") if isinstance(each, Mapping) else None
            if pid is not None:
                processes.append(GpuProcess(int(pid), "", _bytes(_number(each, "gpuMemoryUsage")), uuid))
    return tuple(gpus), tuple(processes)


def _number(entry: Mapping[str, object], *names: str) -> float | None:
    for name in names:
        value = entry.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MAX:
            return float(value)
    return None


def _bytes(mebibytes: float | None) -> int | None:
    return None if mebibytes is None else int(mebibytes * _MIB)
