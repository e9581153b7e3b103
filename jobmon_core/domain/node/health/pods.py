"""Read what a pod answers to the script of `observe.kubectl`, and the GPUs that Ray's own agents measure.

Formats: ``nvidia-smi --help-query-gpu`` and ``--help-query-compute-apps``; ``ray status``
(ray/autoscaler/_private/util.py) and ``gpus`` of ``/nodes?view=summary`` in Ray 2.9 to 2.60.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from jobmon_core.domain.artifacts.checkpoints.recognize import step_of
from jobmon_core.domain.artifacts.model import Checkpoints, ListedFile
from jobmon_core.domain.node.health.model import ClusterResources
from jobmon_core.domain.node.health.nccl import NcclLines, read_nccl
from jobmon_core.domain.node.telemetry.model import FabricKind, FabricPort, Gpu

_MIB = 2**20
_GPU_FIELDS, _PROCESS_FIELDS = 6, 4
_RESOURCE = re.compile(r"^\s*([0-9]{1,12}(?:\.[0-9]+)?)/([0-9]{1,12}(?:\.[0-9]+)?) (CPU|GPU)\b", re.MULTILINE)
_DEMAND = re.compile(r"^\s*(\{.*\}[^\n]*(?:pending|request)[^\n]*)$", re.MULTILINE)
_INDEX, _SECONDS = re.compile(r"[0-9]{1,9}"), re.compile(r"[0-9]{1,12}")
_FIGURE = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,6})?")
_EFA_NAMES = ("efa", "rdmap")


class GpuProcess(NamedTuple):
    """On a GPU of a pod."""

    pid: int
    name: str
    memory: int | None = None  # bytes; None: the driver hides it, as in most containers
    gpu_uuid: str = ""


_NO_LINES = NcclLines()


@dataclass(frozen=True, slots=True)
class PodAnswer:
    """What one pod shows."""

    pod: str
    gpus: tuple[Gpu, ...] = ()
    processes: tuple[GpuProcess, ...] = ()
    cluster: ClusterResources | None = None
    nccl: NcclLines = _NO_LINES
    ports: tuple[FabricPort, ...] = ()  # without counters
    checkpoints: Checkpoints | None = None
    problems: tuple[str, ...] = ()  # what it does not show, and why


def read_gpus(text: str, processes: Sequence[GpuProcess] = ()) -> tuple[Gpu, ...]:
    """Return the GPUs of several looks by nvidia-smi, with their mean utilisation."""
    looks: dict[int, list[Sequence[str]]] = {}
    for line in text.splitlines():
        words = [word.strip() for word in line.split(",")]
        if len(words) == _GPU_FIELDS and _INDEX.fullmatch(words[0]):
            looks.setdefault(int(words[0]), []).append(words)
    return tuple(_gpu(index, found, processes) for index, found in sorted(looks.items()))


def _gpu(index: int, looks: Sequence[Sequence[str]], processes: Sequence[GpuProcess]) -> Gpu:
    uuid, name = looks[-1][1], looks[-1][2]
    busy = [value for look in looks if (value := _number(look[3])) is not None]
    used, total = _number(looks[-1][4]), _number(looks[-1][5])
    pids = tuple(each.pid for each in processes if each.gpu_uuid == uuid)
    return Gpu(
        index,
        uuid,
        name,
        sum(busy) / len(busy) if busy else None,
        min(busy, default=None),
        max(busy, default=None),
        None if used is None else int(used * _MIB),
        None if total is None else int(total * _MIB),
        own_pids=pids,
    )


def read_processes(text: str) -> tuple[GpuProcess, ...]:
    """Return the processes that nvidia-smi lists."""
    found = []
    for line in text.splitlines():
        uuid, _, rest = line.partition(",")
        pid, _, rest = rest.partition(",")
        name, _, memory = rest.rpartition(",")  # a name may hold commas
        if uuid.startswith(("GPU-", "MIG-")) and _INDEX.fullmatch(pid.strip()):
            used = _number(memory.strip())
            size = None if used is None else int(used * _MIB)
            found.append(GpuProcess(int(pid), name.strip(), size, uuid.strip()))
    return tuple(found)


def read_ray_status(text: str) -> ClusterResources | None:
    """Return None if this is no text of ``ray status``."""
    found = {match[3]: (float(match[1]), float(match[2])) for match in _RESOURCE.finditer(text)}
    if not found:
        return None
    gpus_held, gpus = found.get("GPU", (0.0, 0.0))
    cpus_held, cpus = found.get("CPU", (None, None))
    waiting = tuple(dict.fromkeys(match[1].strip() for match in _DEMAND.finditer(text)))
    return ClusterResources(gpus, gpus_held, cpus, cpus_held, waiting)


def read_ports(text: str) -> tuple[FabricPort, ...]:
    """Read a list of /sys/class/infiniband; names tell the devices of EFA."""
    return tuple(
        FabricPort(name, kind=FabricKind.EFA if name.startswith(_EFA_NAMES) else FabricKind.INFINIBAND)
        for name in text.split()
    )


def read_checkpoints(text: str, folder: str) -> Checkpoints:
    """Return the checkpoint that the link ``latest`` names, else the one with the highest step.

    Each line has a time in Unix seconds and a name; that of the link has ``latest`` and what it names.
    """
    found, named = [], ""
    for line in text.splitlines():
        saved, _, name = line.partition(" ")
        if _SECONDS.fullmatch(saved) and (step := step_of(name)) is not None:
            found.append((step, float(saved), name))
        elif saved == "latest":
            named = name.rstrip("/").rpartition("/")[2]
    if not found:
        return Checkpoints(folder, problem=_folder_problem(text))
    finished = next((each for each in found if each[2] == named), None)
    step, saved_s, name = finished or max(found)
    times = sorted(each[1] for each in found)
    gaps = sorted(later - earlier for earlier, later in pairwise(times))
    interval_s = None
    if gaps:
        interval_s = gaps[len(gaps) // 2]
    newest = ListedFile(name, modified_s=saved_s)
    return Checkpoints(folder, len(found), newest, interval_s, step=step, is_complete=bool(finished) or None)


def _folder_problem(text: str) -> str:
    """Return the error of the shell about the folder, if any."""
    error = next((line for line in text.splitlines() if "cd:" in line), "")
    if error:
        return error.rpartition(": ")[2]
    return "no checkpoint with a step in its name"


def pod_answer(pod: str, sections: dict[str, str], checkpoint_folder: str) -> PodAnswer:
    """Return what a pod's answer shows, whose ``sections`` have names."""
    processes = read_processes(sections.get("processes", ""))
    gpus = read_gpus(sections.get("gpus", ""), processes)
    cluster = None
    if "ray" in sections:
        cluster = read_ray_status(sections["ray"])
    problems = []
    if not gpus:
        problems.append(f"GPUs of {pod}: {_why(sections.get('gpus', ''), 'nvidia-smi shows none')}")
    if "ray" in sections and cluster is None:
        problems.append(f"resources of Ray: {_why(sections['ray'], '`ray status` printed nothing')}")
    return PodAnswer(
        pod,
        gpus,
        processes,
        cluster,
        read_nccl(sections.get("nccl", "").splitlines()),
        read_ports(sections.get("fabric", "")),
        read_checkpoints(sections["checkpoints"], checkpoint_folder) if "checkpoints" in sections else None,
        tuple(problems),
    )


def _why(text: str, otherwise: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines:
        return lines[-1][:200]
    return otherwise


def _number(text: str) -> float | None:
    """Return None for other text, e.g. ``[N/A]``."""
    if _FIGURE.fullmatch(text):
        return float(text)
    return None


_MAX = 1e15  # NaN is not below it


def parse_node_gpus(
    entries: Iterable[Mapping[str, object]],
) -> tuple[tuple[Gpu, ...], tuple[GpuProcess, ...]]:
    """Return the GPUs and the processes on them."""
    gpus, processes = [], []
    for entry in entries:
        index, uuid = _ray_number(entry, "index"), entry.get("uuid")
        if index is None or not isinstance(uuid, str):
            continue
        used, total = (_ray_number(entry, name, name.lower()) for name in ("memoryUsed", "memoryTotal"))
        utilization = _ray_number(entry, "utilizationGpu", "utilization_gpu")
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
            pid = None
            if isinstance(each, Mapping):
                pid = _ray_number(each, "pid")
            if pid is not None:
                processes.append(GpuProcess(int(pid), "", _bytes(_ray_number(each, "gpuMemoryUsage")), uuid))
    return tuple(gpus), tuple(processes)


def _ray_number(entry: Mapping[str, object], *names: str) -> float | None:
    for name in names:
        value = entry.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MAX:
            return float(value)
    return None


def _bytes(mebibytes: float | None) -> int | None:
    if mebibytes is None:
        return None
    return int(mebibytes * _MIB)
