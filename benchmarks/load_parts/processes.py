"""What processes cost, as the kernel tells it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_FIELD = re.compile(r"^(\w+):\s+(\d+) kB", re.MULTILINE)
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of one process, in KiB."""

    pss: int  # its own pages, and its share of those that it shares
    private: int


@dataclass(frozen=True, slots=True)
class Cpu:
    """The CPU time that one process took, in seconds."""

    own_s: float
    children_s: float  # of those that ended and were waited for: squeue, scontrol, sacct

    def since(self, before: Cpu) -> Cpu:
        """Return what was taken after ``before``."""
        return Cpu(self.own_s - before.own_s, self.children_s - before.children_s)


def memory(pid: int) -> Memory:
    """Return what a process holds now."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    kb = {name: int(number) for name, number in _FIELD.findall(text)}
    return Memory(kb["Pss"], kb["Private_Clean"] + kb["Private_Dirty"])


def cpu(pid: int) -> Cpu:
    """Return what a process took so far: its own to the nanosecond, its children's to the tick."""
    own_ns = int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0])
    return Cpu(own_ns / 1e9, sum(map(int, _stat(pid)[13:15])) * _TICK_S)


def sleeps(pid: int) -> bool:
    """Whether a process waits for something."""
    return _stat(pid)[0] == "S"


def _stat(pid: int) -> list[str]:
    """Return what the kernel says of a process, from its state on: field n of proc(5) is item n - 3."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
