"""Reads what /proc shows about the whole node, the space on file systems, and if folders can be written.

Without pathlib: a Path interns the names in it. Each time a name is interned again, it takes a new place in
Python's table of interned strings, which grows in steps of hundreds of kilobytes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from jobmon_core.agent.proc import PROC, read_file
from jobmon_core.domain.node.telemetry.model import Disk, Folder, Node
from jobmon_core.system.files import usable_bytes

SYS = "/sys"
_IDLE, _IO_WAIT, _GUEST = 3, 4, 8  # positions in the first line of /proc/stat; guest time is user time, too
_RECEIVED, _SENT = 0, 8  # positions in /proc/net/dev


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters of the node that only grow."""

    cpu: tuple[int, ...] = ()  # clock ticks by kind
    received: int = 0  # bytes
    sent: int = 0


def read_counters(proc: str = PROC, sys: str = SYS) -> Counters:
    """Return the counters of the node; empty ones if any of them cannot be read."""
    try:
        cpu = tuple(int(word) for word in read_file(f"{proc}/stat").split(b"\n", 1)[0].split()[1:])
        cards = bytes_of_cards(proc, sys).values()
    except (OSError, ValueError, IndexError):
        return Counters()
    return Counters(cpu, sum(received for received, _ in cards), sum(sent for _, sent in cards))


def node(name: str, before: Counters, now: Counters, span_s: float) -> Node:
    """Return the figures of the node over a span, from its counters before and after."""
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
    """Return the space on the file system of a folder; None if it cannot be read. It may hang."""
    try:
        status = os.statvfs(path)
    except OSError:
        return None
    free = status.f_bavail * status.f_frsize
    return Disk(path, usable_bytes(status), free, status.f_files, status.f_favail)


def read_folder(path: str) -> Folder:
    """Return whether a folder exists and can be written, or can be created. It may hang."""
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

    Raises:
        OSError, ValueError, IndexError: /proc/net/dev cannot be read.
    """
    lines = (line.partition(b":") for line in read_file(f"{proc}/net/dev").splitlines()[2:])
    counters = {name.strip().decode(): words.split() for name, _, words in lines}
    counters.pop("lo", None)
    cards = [name for name in counters if os.path.exists(f"{sys}/class/net/{name}/device")]  # noqa: PTH110 - as above
    return {name: (int(counters[name][_RECEIVED]), int(counters[name][_SENT])) for name in cards or counters}
