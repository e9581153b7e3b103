"""Memory and CPU time of processes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import psutil


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
    used = psutil.Process(pid).memory_full_info()
    return Memory(used.pss // 1024, used.uss // 1024)


def cpu(pid: int) -> Cpu:
    """Return the CPU time of a process so far: its own in nanoseconds, its children's in clock ticks."""
    own_ns = int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0])
    ticks = psutil.Process(pid).cpu_times()
    return Cpu(own_ns / 1e9, ticks.children_user + ticks.children_system)
