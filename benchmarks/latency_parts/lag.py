"""Context managers that slow down accounting; ``cluster`` is the folder of a private Slurm."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.support.waiting import eventually


@contextmanager
def late(cluster: Path) -> Iterator[None]:
    """Lock accounting's database against writes: sacct answers at once, but with old data."""
    statements = "FLUSH TABLES WITH READ LOCK; SELECT 'locked'; SELECT SLEEP(86400)"
    client = ("mariadb", "--no-defaults", "--user=root", f"--socket={cluster / 'database' / 'socket'}")
    argv = (*client, "-N", "--unbuffered", f"--execute={statements}")
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as lock:
        try:
            if not lock.stdout or lock.stdout.readline() != "locked\n":
                raise SystemExit("cannot lock the database of accounting")
            yield
        finally:
            lock.kill()


@contextmanager
def hanging(cluster: Path) -> Iterator[None]:
    """Suspend slurmdbd: sacct connects, but gets no answer."""
    pid = int((cluster / "run" / "slurmdbd").read_text(encoding="ascii").split()[0])
    slurmdbd = psutil.Process(pid)
    slurmdbd.suspend()
    try:
        eventually(lambda: slurmdbd.status() == psutil.STATUS_STOPPED)
        yield
    finally:
        slurmdbd.resume()
