"""A user who starts monitors of jobs that never end."""

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
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.lifecycle.health import Health, job_status
from jobmon_core.store.home import Home
from tests.support.files import write_whole
from tests.support.processes import monitors_of, processes_of
from tests.support.waiting import PATIENCE_S, eventually

PATIENTLY = '"$@" patiently'  # on busy machines the command must wait longer for another monitor
LAUNCH = """
import os, signal, sys, time
from pathlib import Path
from jobmon_core.domain.errors import JobmonError
from jobmon_core.system.clock import Clock
from jobmon_core.lifecycle.start import MonitorStarter
from jobmon_core.context import Context
from jobmon_core.store.home import Home
class Patient(Clock):
    def now(self):
        return time.time() / 20
os.umask(0o027)
clock = Patient() if "patiently" in sys.argv else Clock()
if "ignoring-children" in sys.argv:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
try:
    ctx = Context(Home(Path(sys.argv[1])), os.environ, clock=clock)
    acquired = MonitorStarter(ctx, int(sys.argv[3])).start(sys.argv[2].split(","))
    print("holds", *acquired)
except JobmonError as error:
    print(type(error).__name__, error)
print(oct(os.umask(0)), os.getcwd(), os.getsid(0))
"""


class Login:
    """One user; processes that still run at the end of the block are killed."""

    def __init__(self, folder: Path, jobs: Sequence[str] = ("a", "b")) -> None:
        self.folder = folder
        self.ctx = Context(Home(folder / "home"), {})
        self.jobs = jobs
        for job_id in jobs:
            # this job does not exist: its monitor waits for a final state for longer than any test
            self.ctx.store.save(WatchedJob(job_id, 12, 100.0, backend="local", user="me"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while alive := self.processes():  # a monitor that hands over may have a successor by now
            for pid in alive:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def configure(self, **sections: object) -> None:
        write_whole(self.ctx.home.config, json.dumps(sections), 0o600)

    def launch(
        self, jobs: str = "a", through: str = '"$@"', at_most: int = 0, **environment: str
    ) -> list[str]:
        """Start a monitor from a separate process; return the lines that it printed."""
        with self.launching(jobs, through, at_most, **environment) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
        assert not err, err
        return out.splitlines()

    def launching(
        self, jobs: str = "a", through: str = '"$@"', at_most: int = 0, **environment: str
    ) -> subprocess.Popen[str]:
        """Start a monitor without waiting for it."""
        program = [sys.executable, "-c", LAUNCH, str(self.ctx.home.root), jobs, str(at_most)]
        command = ["sh", "-c", through, "sh", *program]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def pid(self, job_id: str = "a") -> int:
        """Return the PID of the owner of a job, once it has one: a handover may be under way."""
        eventually(lambda: self.ctx.owner_record(job_id).read() is not None)
        found = self.ctx.owner_record(job_id).read()
        assert found is not None
        return found[0].pid

    def health(self, job_id: str = "a") -> Health:
        return job_status(self.ctx, self.ctx.store.load(job_id)).health

    def alive(self) -> dict[str, int]:
        """Return the PID of the living monitor of each job."""
        shown = {job_id: job_status(self.ctx, self.ctx.store.load(job_id)) for job_id in self.jobs}
        return {
            job_id: each.owner.pid
            for job_id, each in shown.items()
            if each.owner and each.health is Health.ALIVE
        }

    def monitors(self) -> set[int]:
        """Return the monitor processes of this user, whether they own jobs or not."""
        return monitors_of(self.ctx.home.root)

    def processes(self) -> list[int]:
        """Return the monitors and the processes that they forked."""
        return sorted(processes_of(self.ctx.home.root))

    def log(self, job_id: str = "a") -> str:
        return self.ctx.monitor_log(job_id).read()

    def watches(self, times: int = 1, job_id: str = "a") -> bool:
        return self.log(job_id).count("watches") == times
