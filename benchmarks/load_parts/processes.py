"""Memory and CPU time of processes, from /proc alone: a program that measures itself loads no library."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from jobmon_core.agent import proc


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
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    sizes_kb = {name: int(size.split()[0]) for name, _, size in (line.partition(":") for line in lines)}
    return Memory(sizes_kb["Pss"], sizes_kb["Private_Clean"] + sizes_kb["Private_Dirty"])


def cpu(pid: int) -> Cpu:
    """Return the CPU time of a process so far: its own to the nanosecond, its children's to the clock tick.

    Raises:
        OSError: there is no such process.
    """
    own_ns = int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0])
    stat = proc.read_stat(pid)
    if stat is None:
        raise ProcessLookupError(pid)
    return Cpu(own_ns / 1e9, stat.usage.children_s)
