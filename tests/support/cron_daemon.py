"""A process that looks like a cron daemon, and the crontab of a user."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.waiting import eventually

USERS_OWN = "0 1 * * * backup\n"


@contextmanager
def cron_daemon(folder: Path) -> Iterator[None]:
    """Run a process with the name of a cron daemon."""
    program = folder / "cron"
    program.symlink_to(sys.executable)
    with subprocess.Popen([program, "-c", "input()"], stdin=subprocess.PIPE) as daemon:
        comm = Path(f"/proc/{daemon.pid}/comm")
        eventually(lambda: comm.read_text(encoding="ascii") == "cron\n")
        yield
        daemon.communicate(b"\n")
