"""Context managers that slow down accounting; ``cluster`` is the folder of a private Slurm."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STEP_S = 0.05


@contextmanager
def prompt(_cluster: Path) -> Iterator[None]:
    """Leave accounting as it is."""
    yield


@contextmanager
def late(cluster: Path) -> Iterator[None]:
    """Lock accounting's database against writes: sacct answers at once, but with old data."""
    statements = "FLUSH TABLES WITH READ LOCK; SELECT 'locked'; SELECT SLEEP(86400)"
    socket = f"--socket={cluster / 'database' / 'socket'}"
    argv = [
        "mariadb",
        "--no-defaults",
        "--user=root",
        socket,
        "-N",
        "--unbuffered",
        f"--execute={statements}",
    ]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as client:
        try:
            if not client.stdout or client.stdout.readline() != "locked\n":
                raise SystemExit("cannot lock the database of accounting")
            yield
        finally:
            client.kill()


@contextmanager
def hanging(cluster: Path) -> Iterator[None]:
    """Suspend slurmdbd: sacct connects, but gets no answer."""
    pid = int((cluster / "run" / "slurmdbd").read_text(encoding="ascii").split()[0])
    os.kill(pid, signal.SIGSTOP)
    try:
        while _state(pid) != "T":
            time.sleep(_STEP_S)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
