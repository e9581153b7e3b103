"""What tells a process of this host from a later one with the same number."""

from __future__ import annotations

from pathlib import Path

_START_TIME_FIELD = 22  # of /proc/PID/stat, proc(5)


def start_ticks(pid: int) -> int | None:
    """Return when a process started (clock ticks since boot), None where there is none; a zombie is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name before it may hold anything
    return None if fields[0] in ("Z", "X") else int(fields[_START_TIME_FIELD - 3])
