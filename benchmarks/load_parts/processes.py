"""Memory and CPU time of processes, from /proc."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_FIELD = re.compile(r"^(\w+):\s+(\d+) kB", re.MULTILINE)
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of one process in KiB."""

    pss: int  # its private pages, and its share of the shared ones
    private: int


@dataclass(frozen=True, slots=True)
class Cpu:
    """The CPU time of one process in seconds."""

    own_s: float
    children_s: float  # of children that ended: squeue, scontrol, sacct

    def since(self, before: Cpu) -> Cpu:
        """Return the time spent after ``before``."""
        return Cpu(self.own_s - before.own_s, self.children_s - before.children_s)


def memory(pid: int) -> Memory:
    """Return the memory that a process uses now."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    kb = {name: int(number) for name, number in _FIELD.findall(text)}
    return Memory(kb["Pss"], kb["Private_Clean"] + kb["Private_Dirty"])


def cpu(pid: int) -> Cpu:
    """Return the CPU time of a process so far: its own in nanoseconds, its children's in clock ticks."""
    own_ns = int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0])
    return Cpu(own_ns / 1e9, sum(map(int, _stat(pid)[13:15])) * _TICK_S)


def sleeps(pid: int) -> bool:
    """Return whether a process is sleeping."""
    return _stat(pid)[0] == "S"


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on: field n of proc(5) is item n - 3."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
