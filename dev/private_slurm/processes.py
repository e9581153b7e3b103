"""Processes as /proc shows them: which are alive, which belong to a cluster, and their end."""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .waiting import until

PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """One process, told apart from a later one with the same number by its start time."""

    pid: int
    started: int

    @classmethod
    def find(cls, pid: int) -> "Process | None":
        """Look a process up; one that has ended but was not yet waited for is gone."""
        stat = _stat(pid)
        return cls(pid, int(stat[19])) if stat and stat[0] != "Z" else None

    @classmethod
    def parse(cls, text: str) -> "Process | None":
        """Read what ``str`` wrote."""
        words = text.split()
        return cls(*map(int, words)) if list(map(str.isdigit, words)) == [True, True] else None

    def __str__(self) -> str:
        """Write what ``parse`` reads."""
        return f"{self.pid} {self.started}"

    def alive(self) -> bool:
        """Whether this very process still runs."""
        return Process.find(self.pid) == self

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless the process is gone already."""
        if self.alive():
            with suppress(ProcessLookupError):  # it may end between the look and the signal
                os.kill(self.pid, number)


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the name (which may hold blanks), or None."""
    return _read(pid, "stat").decode(errors="replace").rpartition(")")[2].split() or None


def _read(pid: int, name: str) -> bytes:
    """A file of /proc/PID; nothing when the process is gone or not ours to look at."""
    try:
        return (PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""


def kill_all(find: Callable[[], set[int]], seconds: float = 10) -> bool:
    """Kill what ``find`` finds until it finds nothing more (True) or the time is up (False)."""

    def none_left() -> bool:
        living = [found for found in map(Process.find, find()) if found]
        for process in living:
            process.send(signal.SIGKILL)
        return not living

    return until(none_left, seconds)


def with_variables(wanted: Iterable[str]) -> set[int]:
    """Processes started with one of the variables (NAME=VALUE); never the caller or those that started it."""
    wanted = frozenset(wanted)
    return {pid for pid in set(_pids()) - _own_line() if wanted & _variables(pid)}


def named(program: str) -> set[int]:
    """Processes whose program has this name, as the kernel knows it."""
    return {pid for pid in _pids() if _read(pid, "comm").decode(errors="replace").strip() == program}


def holds_open(pid: int, path: Path) -> bool:
    """Whether a process has the path open, or something below it."""
    try:
        descriptors = list((PROC / str(pid) / "fd").iterdir())
    except OSError:
        return False
    return any(_points_into(descriptor, path) for descriptor in descriptors)


def with_descendants(pids: set[int]) -> set[int]:
    """The given processes and all that they started, directly or not."""
    parents = {pid: int(stat[1]) for pid in _pids() if (stat := _stat(pid))}
    found, new = set(pids), set(pids)
    while new:
        new = {pid for pid, parent in parents.items() if parent in new} - found
        found |= new
    return found - _own_line()


def _pids() -> Iterator[int]:
    """The numbers of all processes."""
    return (int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())


def _own_line() -> set[int]:
    """This process, its parent, and so on."""
    line, pid = set[int](), os.getpid()
    while pid > 0 and pid not in line:
        line.add(pid)
        stat = _stat(pid)
        pid = int(stat[1]) if stat else 0
    return line


def _variables(pid: int) -> set[str]:
    """The environment that a process was started with, as NAME=VALUE."""
    return set(_read(pid, "environ").decode(errors="replace").split("\0"))


def _points_into(link: Path, path: Path) -> bool:
    """Whether a link in /proc leads there; not when it has gone in the meantime."""
    try:
        return link.readlink().is_relative_to(path)
    except OSError:
        return False
