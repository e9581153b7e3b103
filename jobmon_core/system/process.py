"""Ending with one's parent: a copy whose result nobody will read must not act on its own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

_SET_PARENT_DEATH_SIGNAL = 1  # of prctl(2)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends, or at once if it has ended already.

    Does nothing in the parent itself, and nothing if the kernel refuses.
    """
    if os.getpid() == parent:
        return
    import ctypes  # only in the copy: a monitor that waits for days stays small

    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


_START_TIME_FIELD = 22  # of /proc/PID/stat, proc(5)


def start_ticks(pid: int) -> int | None:
    """Return when a process started (clock ticks since boot), None where there is none; a zombie is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name before it may hold anything
    return None if fields[0] in ("Z", "X") else int(fields[_START_TIME_FIELD - 3])


def user_name(uid: int | None = None) -> str:
    """Return the name of a user, by default of the one who runs this process; the uid if it has no name."""
    import pwd

    uid = os.getuid() if uid is None else uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
