"""Reads the process table, the counters of the node and the space on file systems, with system calls only.

Without pathlib: a Path interns the names in it. Each time a name is interned again, it takes a new place in
Python's table of interned strings, which grows by hundreds of KB beside a job.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.artifacts.disk import Disk
from jobmon_core.domain.node.telemetry.model import Folder, Node
from jobmon_core.domain.node.telemetry.processes import Process, Usage
from jobmon_core.system.files import usable_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PROC = "/proc"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MAX_THREADS = 256
_MAX_TEXT = 2**20  # an environment can be larger than any other of these files
# fields of /proc/PID/stat after the command name, see proc(5)
_STATE, _PARENT, _USER_TIME, _THREADS, _START_TIME, _RESIDENT, _EXIT_STATUS = 0, 1, 11, 17, 19, 21, 49


def read_file(path: str, at_most: int = _MAX_TEXT) -> bytes:
    """Return the beginning of a file in /proc or /sys."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while at_most > 0 and (part := os.read(descriptor, min(at_most, 65536))):
            parts.append(part)
            at_most -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def pids_of_user(uid: int) -> list[int]:
    """Return the PIDs of a user."""
    pids = []
    with os.scandir(PROC) as entries:
        for entry in entries:
            if entry.name[0] in "123456789":
                with suppress(OSError):
                    if entry.stat().st_uid == uid:
                        pids.append(int(entry.name))
    return pids


def read_stat(pid: int) -> Process | None:
    """Return what /proc/PID/stat shows; None if there is no such process."""
    try:
        text = read_file(f"{PROC}/{pid}/stat", 4096)
    except OSError:
        return None
    start, end = text.find(b"("), text.rfind(b")")  # the name may contain anything
    fields = text[end + 2 :].split()
    own, own_system, children, children_system = (int(ticks) for ticks in fields[_USER_TIME : _USER_TIME + 4])
    return Process(
        pid,
        int(fields[_PARENT]),
        int(fields[_START_TIME]),
        text[start + 1 : end].decode(errors="replace"),
        state=fields[_STATE].decode(),
        threads=int(fields[_THREADS]),
        memory=int(fields[_RESIDENT]) * _PAGE_BYTES,
        usage=Usage((own + own_system) / TICKS_PER_S, (children + children_system) / TICKS_PER_S),
        wait_status=int(fields[_EXIT_STATUS]) if fields[_STATE] == b"Z" else None,
    )


def runnable_threads(pids: Iterable[int], total: int) -> float | None:
    """Return how many of the ``total`` threads of these processes compute or wait for a core."""
    looked, runnable = 0, 0
    for pid in pids:
        with suppress(OSError):
            for thread in list(os.scandir(f"{PROC}/{pid}/task"))[: _MAX_THREADS - looked]:
                text = read_file(f"{thread.path}/stat", 4096)
                looked += 1
                runnable += text[text.rfind(b")") + 2 :].startswith(b"R")
    if looked:
        return total * runnable / looked
    return None


def read_io(pid: int) -> tuple[int | None, int | None]:
    """Return the bytes that a process and its ended children read from disks and file servers, and wrote."""
    try:
        lines = read_file(f"{PROC}/{pid}/io", 4096).split(b"\n")
        counters = dict(line.split(b": ", 1) for line in lines if b": " in line)
        return int(counters[b"read_bytes"]), int(counters[b"write_bytes"])
    except (OSError, KeyError, ValueError):
        return None, None


def read_argv(pid: int) -> tuple[str, ...]:
    """Return an empty command line if it cannot be read."""
    try:
        text = read_file(f"{PROC}/{pid}/cmdline", 8192)
    except OSError:
        return ()
    return tuple(word.decode(errors="replace") for word in text.rstrip(b"\0").split(b"\0") if word)


def read_environment(pid: int, names: frozenset[bytes]) -> dict[str, str] | None:
    """Return these variables of the environment that a process started with."""
    try:
        text = read_file(f"{PROC}/{pid}/environ")
    except OSError:
        return None
    pairs = (entry.partition(b"=") for entry in text.split(b"\0"))
    return {name.decode(): value.decode(errors="replace") for name, _, value in pairs if name in names}


def uptime_ticks() -> int:
    """Return the time since boot."""
    return ticks(float(read_file(f"{PROC}/uptime", 100).split()[0]))


def boot_s(now_s: float) -> float:
    """Return when this host was started, by the clock that counts the start of processes."""
    return now_s - float(read_file(f"{PROC}/uptime", 100).split()[0])


def ticks(seconds: float) -> int:
    """Return seconds as clock ticks."""
    return int(seconds * TICKS_PER_S)


SYS = "/sys"
_IDLE, _IO_WAIT, _GUEST = 3, 4, 8
_RECEIVED, _SENT = 0, 8


@dataclass(frozen=True, slots=True)
class Counters:
    """Of the node; they only grow."""

    cpu: tuple[int, ...] = ()
    received: int = 0
    sent: int = 0


def read_counters(proc: str = PROC, sys: str = SYS) -> Counters:
    """Return empty ones if any of them cannot be read."""
    try:
        cpu = tuple(int(word) for word in read_file(f"{proc}/stat").split(b"\n", 1)[0].split()[1:])
        cards = bytes_of_cards(proc, sys).values()
    except (OSError, ValueError, IndexError):
        return Counters()
    return Counters(cpu, sum(received for received, _ in cards), sum(sent for _, sent in cards))


def node(name: str, before: Counters, now: Counters, span_s: float) -> Node:
    """Return the figures of the node over a span."""
    spent = [after - earlier for earlier, after in zip(before.cpu, now.cpu, strict=False)]
    total = sum(spent[:_GUEST])
    idle = sum(spent[_IDLE : _IO_WAIT + 1])
    memory = _memory()
    return Node(
        name,
        os.cpu_count() or 0,
        os.getloadavg()[0],
        100 * (total - idle) / total if total > 0 else None,
        100 * spent[_IO_WAIT] / total if total > 0 else None,
        memory.get(b"MemTotal"),
        memory.get(b"MemAvailable"),
        max(0, now.received - before.received) / span_s if before.cpu else None,
        max(0, now.sent - before.sent) / span_s if before.cpu else None,
    )


def read_disk(path: str) -> Disk | None:
    """Return the space on the file system of a folder. It may hang."""
    try:
        status = os.statvfs(path)
    except OSError:
        return None
    free = status.f_bavail * status.f_frsize
    return Disk(free, usable_bytes(status), status.f_favail, status.f_files, path)


def read_folder(path: str) -> Folder:
    """Return whether a folder exists and can be written, or created. It may hang."""
    nearest = path
    while not os.path.lexists(nearest):
        nearest = os.path.dirname(nearest) or "/"  # noqa: PTH120 - as above
    is_usable = os.path.isdir(nearest) and os.access(nearest, os.W_OK | os.X_OK)  # noqa: PTH112 - as above
    return Folder(path, nearest == path, is_usable)


def _memory() -> dict[bytes, int]:
    try:
        pairs = (line.split() for line in read_file("/proc/meminfo").splitlines()[:8])
        return {words[0].rstrip(b":"): int(words[1]) * 1024 for words in pairs}
    except (OSError, ValueError, IndexError):
        return {}


def bytes_of_cards(proc: str = PROC, sys: str = SYS) -> dict[str, tuple[int, int]]:
    """Return the bytes received and sent by each network card, or interface if there is no card.

    What passes through a bridge or a bond is counted at the card.
    """
    lines = (line.partition(b":") for line in read_file(f"{proc}/net/dev").splitlines()[2:])
    counters = {name.strip().decode(): words.split() for name, _, words in lines}
    counters.pop("lo", None)
    cards = [name for name in counters if os.path.exists(f"{sys}/class/net/{name}/device")]  # noqa: PTH110 - as above
    return {name: (int(counters[name][_RECEIVED]), int(counters[name][_SENT])) for name in cards or counters}


class Background:
    """Makes one call at a time in a thread of its own, which cannot keep the process from ending."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._thread: threading.Thread | None = None

    def run(self, call: Callable[[], None], timeout_s: float) -> bool:
        """Start a call; return whether it ended within ``timeout_s``.

        While an earlier call has not ended, the new one is not started.
        """
        if self._thread is not None and self._thread.is_alive():
            return False
        self._thread = threading.Thread(target=call, daemon=True)
        self._thread.start()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()
