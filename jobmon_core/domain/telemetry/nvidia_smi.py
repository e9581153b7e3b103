"""What nvidia-smi prints with ``--format=csv,noheader,nounits``, see nvidia-smi(1)."""

from __future__ import annotations

import re
from dataclasses import dataclass

GPU_FIELDS = "index,uuid,utilization.gpu,memory.used,memory.total"
PROCESS_FIELDS = "pid,process_name,gpu_uuid,used_memory"
_MIB = 2**20
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,6})?")


@dataclass(frozen=True, slots=True)
class SmiGpu:
    """One GPU at one moment. None means that the driver does not say, e.g. of a partitioned GPU."""

    index: int
    uuid: str
    utilization_percent: float | None
    memory_bytes: int | None
    memory_total_bytes: int | None


@dataclass(frozen=True, slots=True)
class SmiProcess:
    """One process on one GPU."""

    pid: int  # of the host: in a container another one
    name: str
    gpu_uuid: str
    memory_bytes: int | None


def parse_gpus(text: str) -> tuple[SmiGpu, ...]:
    """Return the GPUs of ``--query-gpu=GPU_FIELDS``; other lines are skipped."""
    found = []
    for line in text.splitlines():
        values = [value.strip() for value in line.split(",")]
        if len(values) == GPU_FIELDS.count(",") + 1 and values[0].isdecimal():
            index, uuid, utilization, used, total = values
            found.append(SmiGpu(int(index), uuid, _number(utilization), _bytes(used), _bytes(total)))
    return tuple(found)


def parse_processes(text: str) -> tuple[SmiProcess, ...]:
    """Return the processes of ``--query-compute-apps=PROCESS_FIELDS``; other lines are skipped."""
    found = []
    for line in text.splitlines():
        pid, _, rest = line.partition(",")
        name, *values = rest.rsplit(",", 2)  # only a name may contain commas
        if pid.strip().isdecimal() and len(values) == PROCESS_FIELDS.count(",") - 1:
            found.append(SmiProcess(int(pid), name.strip(), values[0].strip(), _bytes(values[1].strip())))
    return tuple(found)


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _bytes(text: str) -> int | None:
    number = _number(text)
    return None if number is None else int(number * _MIB)
