"""A user's terminal, from which monitors of jobs are started that never end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from jobmon_core.context import Context
from jobmon_core.domain.tracking.model import WatchedJob
from jobmon_core.lifecycle.health import Health, job_status
from jobmon_core.store.home import Home
from tests.support.processes import monitors_of, processes_of

PATIENTLY = '"$@" patiently'  # busy machines are slow: the command waits longer for a taker than a user would
LAUNCH = """
import os, signal, sys, time
from pathlib import Path
from jobmon_core.domain.errors import JobmonError
from jobmon_core.system.clock import SystemClock
from jobmon_core.lifecycle.start import MonitorStarter
from jobmon_core.context import Context
from jobmon_core.store.home import Home
class Patient(SystemClock):
    def now(self):
        return time.time() / 20
os.umask(0o027)
clock = Patient() if "patiently" in sys.argv else SystemClock()
if "ignoring-children" in sys.argv:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
try:
    ctx = Context(Home(Path(sys.argv[1])), os.environ, clock=clock)
    held = MonitorStarter(ctx).start(sys.argv[2].split(","))
    print("holds", *held)
except JobmonError as error:
    print(type(error).__name__, error)
print(oct(os.umask(0)), os.getcwd(), os.getsid(0))
"""


class Login:
    """One user; what still runs at the end of the block is killed."""

    def __init__(self, folder: Path, jobs: Sequence[str] = ("a", "b")) -> None:
        self.folder = folder
        self.ctx = Context(Home(folder / "home"), {})
        self.jobs = jobs
        for job_id in jobs:
            # no such job: its monitor looks for a witness for longer than any test lasts
            self.ctx.store.save(WatchedJob(job_id, 12, 100.0, backend="local", user="me"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while alive := self.processes():  # one that hands over may have a successor by now
            for pid in alive:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def configure(self, **sections: object) -> None:
        path = self.ctx.home.config
        path.write_text(json.dumps(sections), encoding="ascii")
        path.chmod(0o600)

    def launch(self, jobs: str = "a", through: str = '"$@"', **environment: str) -> list[str]:
        """Start a monitor from a process of its own; return the lines that this printed."""
        with self.launching(jobs, through, **environment) as process:
            out, err = process.communicate(timeout=60)
        assert not err, err
        return out.splitlines()

    def launching(self, jobs: str = "a", through: str = '"$@"', **environment: str) -> subprocess.Popen[str]:
        """Begin to start a monitor."""
        command = ["sh", "-c", through, "sh", sys.executable, "-c", LAUNCH, str(self.ctx.home.root), jobs]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def pid(self, job_id: str = "a") -> int:
        found = self.ctx.owner_record(job_id).read()
        assert found is not None
        return found[0].pid

    def health(self, job_id: str = "a") -> Health:
        return job_status(self.ctx, self.ctx.store.load(job_id)).health

    def alive(self) -> dict[str, int]:
        """Return who lives and watches which job."""
        return {job_id: self.pid(job_id) for job_id in self.jobs if self.health(job_id) is Health.ALIVE}

    def monitors(self) -> set[int]:
        """Return the processes that are monitors of this user, whatever they own."""
        return monitors_of(self.ctx.home.root)

    def processes(self) -> list[int]:
        """Return the monitors, and the copies of themselves that they make."""
        return sorted(processes_of(self.ctx.home.root))

    def log(self, job_id: str = "a") -> str:
        return self.ctx.monitor_log(job_id).read()

    def watches(self, times: int = 1, job_id: str = "a") -> bool:
        return self.log(job_id).count("watches") == times
