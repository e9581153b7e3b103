"""Processes of this host: forking one, their identity, and whether they still run."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import ClassVar, Self

_PROC = Path("/proc")
_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36  # of prctl(2)
# positions of the fields of /proc/PID/stat after the command name, see proc(5)
_STATE, _PARENT, _SESSION, _USER_TICKS, _SYSTEM_TICKS, _START_TIME = 0, 1, 3, 11, 12, 19


def fork_with_pipe() -> tuple[int, int]:
    """Fork; return the child's PID (0 in the child) and this process's end of a new pipe.

    The child writes to it, the parent reads. After OSError, no descriptor stays open.
    """
    reading, writing = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        raise
    own, other = (reading, writing) if pid else (writing, reading)
    os.close(other)
    return pid, own


def die_with_parent(parent: int) -> None:
    """Make the kernel kill this process when ``parent`` (a PID) ends, or kill it now if ``parent`` has ended.

    Does nothing in ``parent`` itself. If the kernel refuses, a later end of ``parent`` has no effect.
    """
    if os.getpid() == parent:
        return
    with suppress(OSError):
        _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, so that none escapes; OSError."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    import ctypes  # not at the top: the idle monitor must stay small

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}, {value})")


@dataclass(frozen=True, slots=True)
class ProcStat:
    """What /proc shows about one process."""

    state: str  # the letter of proc(5), e.g. ``R``
    parent: int  # PID
    session: int  # session id
    start_ticks: int  # when it started, in clock ticks since boot
    cpu_s: float  # that it used, without its children

    @property
    def is_running(self) -> bool:
        """Whether it has not ended; that of a zombie has not been told to its parent yet."""
        return self.state not in ("Z", "X")


def read_stat(pid: int) -> ProcStat | None:
    """Read /proc/PID/stat; None if there is no such process, or the user may not see it."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    fields = text.rpartition(")")[2].split()  # the command name may contain anything
    return ProcStat(
        state=fields[_STATE],
        parent=int(fields[_PARENT]),
        session=int(fields[_SESSION]),
        start_ticks=int(fields[_START_TIME]),
        cpu_s=(int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])) / os.sysconf("SC_CLK_TCK"),
    )


def own_peak_kib() -> int | None:
    """Return the peak memory of this process since it executed its program (KiB); None if /proc lacks it.

    ``getrusage`` would also count the memory of the process that forked it.
    """
    status = (_PROC / "self" / "status").read_text(encoding="ascii", errors="replace")
    words = status.partition("\nVmHWM:")[2].split(maxsplit=1)
    return int(words[0]) if words else None


def start_ticks(pid: int) -> int | None:
    """Return when a process started (clock ticks since boot); None if it does not run or is hidden."""
    stat = read_stat(pid)
    return stat.start_ticks if stat and stat.is_running else None


def descendants(ancestor: int, session: int) -> list[int]:
    """Return the PIDs of a process's running descendants, parents first, then of others in ``session``."""
    stats = {
        int(entry.name): stat
        for entry in _PROC.iterdir()
        if entry.name.isdigit() and (stat := read_stat(int(entry.name)))
    }
    family = [ancestor]
    for parent in family:  # grows during the loop
        family += [pid for pid, stat in stats.items() if stat.parent == parent and pid not in family]
    family += [pid for pid, stat in stats.items() if stat.session == session and pid not in family]
    return [pid for pid in family[1:] if stats[pid].is_running]


def processes_with(variable: str, value: str) -> list[int]:
    """Return the PIDs of the user's running processes that started with this environment variable, sorted."""
    entry, found = f"{variable}={value}".encode(), []
    for folder in _PROC.glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or belongs to another user
            if entry in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return sorted(pid for pid in found if start_ticks(pid) is not None)


class ProcessStatus(Enum):
    """What this host can find out about a process."""

    RUNNING = "running"
    EXITED = "exited"
    REBOOTED = "rebooted"  # ended, because its host was restarted
    REMOTE = "remote"  # it belongs to another host or PID namespace; only there can its status be seen


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process, distinguished from every other one that has, had or will have the same PID."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"pid_namespace": "pid_space"}

    host: str
    boot_id: str
    pid: int
    start_ticks: int  # since boot, in clock ticks
    pid_namespace: str = ""  # a container has its own; empty if it was not recorded

    @classmethod
    def current(cls) -> Self:
        """Return this process; an exec does not change its identity."""
        return cls.of(os.getpid())

    @classmethod
    def of(cls, pid: int) -> Self:
        """Return a process in the same PID namespace as this one."""
        boot_id = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = str((_PROC / "self/ns/pid").readlink())
        return cls(os.uname().nodename, boot_id, pid, start_ticks(pid) or 0, namespace)

    def status(self, observer: ProcessId) -> ProcessStatus:
        """Return whether it runs, as seen by ``observer``, a process of this host."""
        if self.boot_id != observer.boot_id:
            return ProcessStatus.REBOOTED if self.host == observer.host else ProcessStatus.REMOTE
        if self.pid_namespace != observer.pid_namespace:
            return ProcessStatus.REMOTE
        runs = start_ticks(self.pid) == self.start_ticks
        return ProcessStatus.RUNNING if runs else ProcessStatus.EXITED
