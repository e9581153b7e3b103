"""Which machine this is, and whether a process that once ran on one still does."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

_PROC = Path("/proc")
_START_TIME = 22  # field of /proc/PID/stat, see proc(5)
_PARENT = 4
_SESSION = 6
_FIRST_BEHIND_NAME = 3


class Life(Enum):
    """What can be said of a process from here."""

    ALIVE = "alive"
    GONE = "gone"
    REBOOTED = "gone with its machine"  # the machine was restarted since
    ELSEWHERE = "on another machine"  # only that machine can tell


@dataclass(frozen=True, slots=True)
class Machine:
    """One boot of one host, seen from one set of process ids (a container has its own)."""

    host: str
    boot_id: str
    pid_space: str

    @classmethod
    def here(cls) -> Machine:
        """Return the machine that this code runs on."""
        boot_id = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return cls(os.uname().nodename, boot_id, str((_PROC / "self/ns/pid").readlink()))


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, told from every other that had or will have its number."""

    host: str
    boot_id: str
    pid_space: str
    pid: int
    start_ticks: int  # since boot, in clock ticks

    @classmethod
    def of(cls, pid: int, machine: Machine) -> Owner:
        """Return the identity of a process that runs now.

        Raises:
            ProcessLookupError: there is no such process.
        """
        started = _stat(pid)
        if started is None:
            raise ProcessLookupError(pid)
        return cls(machine.host, machine.boot_id, machine.pid_space, pid, started.start_ticks)

    def life(self, here: Machine) -> Life:
        """Say whether the process runs, as far as that can be proved on the machine ``here``."""
        if self.boot_id != here.boot_id:
            return Life.REBOOTED if self.host == here.host else Life.ELSEWHERE
        if self.pid_space != here.pid_space:
            return Life.ELSEWHERE
        return Life.ALIVE if is_running(self.pid, self.start_ticks) else Life.GONE


@dataclass(frozen=True, slots=True)
class _Stat:
    state: str
    parent: int
    session: int
    start_ticks: int


def is_running(pid: int, start_ticks: int) -> bool:
    """Whether that very process still runs; a zombie does not."""
    stat = _stat(pid)
    return stat is not None and stat.start_ticks == start_ticks and stat.state not in ("Z", "X")


def family(ancestor: int, session: int) -> list[int]:
    """Return all running descendants of ``ancestor``, parents before children, then others of ``session``."""
    every = {int(entry.name): stat for entry in _PROC.iterdir() if (stat := _stat_of(entry)) is not None}
    found = [ancestor]
    for parent in found:  # grows while it is walked
        found += [pid for pid, stat in every.items() if stat.parent == parent and pid not in found]
    found += [pid for pid, stat in every.items() if stat.session == session and pid not in found]
    return [pid for pid in found[1:] if every[pid].state not in ("Z", "X")]


def _stat_of(entry: Path) -> _Stat | None:
    return _stat(int(entry.name)) if entry.name.isdigit() else None


def _stat(pid: int) -> _Stat | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold anything

    def field(number: int) -> int:
        return int(fields[number - _FIRST_BEHIND_NAME])

    return _Stat(fields[0], field(_PARENT), field(_SESSION), field(_START_TIME))
