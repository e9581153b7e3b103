"""Programs that do something wrong, and healthy ones, judged by what an agent measures of them.

Conditions must last for seconds here, by the job configuration, and not for minutes; the rules are the same.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import pytest

from jobmon_core.analysis.progress import follow_progress
from jobmon_core.domain.job_settings import JobSettings
from jobmon_core.domain.progress.events.event import Event, EventKind
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.domain.telemetry.agent_command import AgentOptions, agent_command
from jobmon_core.domain.tracking.model import Task, WatchedJob
from jobmon_core.domain.triage.thresholds import Thresholds
from jobmon_core.store.telemetry import TaskTelemetry
from tests.support.waiting import eventually

QUICK = Thresholds(must_last_s=4, startup_s=2, idle_s=10)
WITHIN_S = 60.0
_HEALTHY_S = 10.0
STEPS = "import itertools, os, time\nfor i in itertools.count(1):\n print(f'step {i}/100000', flush=True)\n "

LEAKING = (
    STEPS + "kept = globals().setdefault('kept', []); kept.append(bytearray(os.urandom(1) * 3_000_000))\n"
)
LEAKING += " time.sleep(0.2)"
BUFFERED = (
    "import os, time\n"
    "for i in range(10000):\n"
    " print(f'step {i}/10000'); open(os.environ['DISK'] + '/out.txt', 'a').write('result\\n')\n"
    " time.sleep(0.3)"
)
CROWDED = (
    "import os, threading\nos.sched_setaffinity(0, {0})\n"
    "def spin():\n while True: pass\n"
    "for _ in range(63): threading.Thread(target=spin, daemon=True).start()\nspin()"
)
DEADLOCKED = (  # the ranks take two locks in opposite order
    "import os, threading, time\n"
    "for i in range(1, 20):\n print(f'step {i}/100', flush=True); time.sleep(0.1)\n"
    "a, b = threading.Lock(), threading.Lock()\n"
    "def take(x, y):\n with x:\n  time.sleep(0.2)\n  with y: pass\n"
    "threading.Thread(target=take, args=(a, b)).start()\ntake(b, a)"
)
ZOMBIES = (
    "import os, time\n"
    "for i in range(10000):\n"
    " if i < 5 and not os.fork(): os._exit(1)\n"
    " print(f'step {i}/10000', flush=True); time.sleep(0.2)"
)
FILLING = (
    STEPS + "i < 96 and open(os.environ['DISK'] + '/part', 'ab').write(bytes(2_000_000)); time.sleep(0.05)"
)

HEALTHY = {
    "steps that sleep": STEPS + "time.sleep(0.3)",
    "steps that compute": STEPS + "sum(range(3_000_000))",
    "memory taken and returned": STEPS + "block = bytearray(50_000_000 * (i % 2 + 1)); time.sleep(0.2)",
    "two processes": "import os, time\nos.fork()\n" + STEPS + "sum(range(300_000)); time.sleep(0.1)",
}


@dataclass
class Watched:
    """A program that runs, with an agent beside it, and the monitor's looks at it."""

    folder: Path
    log: Path
    started_s: float = field(default_factory=time.time)

    def look(self) -> list[Event]:
        """Look at it as a monitor does; return the verdicts so far."""
        logs = LogPaths(str(self.log), str(self.log), BY_USER)
        task = Task("", JobState.RUNNING, "RUNNING", start_s=int(self.started_s))
        settings = JobSettings(thresholds=QUICK, output_dir=str(self.folder), output_pattern="out.txt")
        job = WatchedJob("local-1-x", 1, self.started_s, logs=logs, tasks={"": task}, settings=settings)
        found = follow_progress(
            [job],
            lambda _: self.folder / "progress.json",
            time.time(),
            telemetry_of=lambda _job, _task: TaskTelemetry(self.folder / "telemetry"),
        )[job.id]
        assert found.problem == ""
        # other programs may fill this machine, e.g. those of other tests
        return [
            event
            for event in found.events
            if event.kind is EventKind.TROUBLE and event.subject != "noisy-neighbour"
        ]


@contextmanager
def watched(
    folder: Path, code: str, variables: Mapping[str, str] = MappingProxyType({}), disk: Path | None = None
) -> Iterator[Watched]:
    """Run a Python program and an agent that reports every second."""
    log, telemetry = folder / "job.out", folder / "telemetry"
    telemetry.mkdir()
    environment = {**os.environ, "PYTHONUNBUFFERED": "", **variables, "DISK": str(disk or folder)}
    with log.open("wb") as output:
        program = subprocess.Popen(
            [sys.executable, "-c", code], stdout=output, env=environment, start_new_session=True
        )
    disks = (str(disk),) if disk else ()
    options = AgentOptions(str(telemetry), pids=(program.pid,), node="n1", interval_s=1.0, disks=disks)
    agent = subprocess.Popen([sys.executable, *agent_command(options)])
    try:
        yield Watched(folder, log)
    finally:
        os.killpg(program.pid, 9)
        program.wait()
        agent.terminate()
        agent.wait()


def finds(job: Watched, name: str) -> Event:
    """Wait for a verdict; no other one that is worth a message may come before it."""
    eventually(lambda: any(event.subject == name for event in job.look()), WITHIN_S)
    events = job.look()
    assert [event.subject for event in events if not event.is_quiet and event.subject != name] == []
    return next(event for event in events if event.subject == name)


@pytest.mark.parametrize(
    ("code", "name", "variables"),
    [
        pytest.param(LEAKING, "memory-leak", {}, id="a loop that leaks"),
        pytest.param(BUFFERED, "block-buffered-output", {}, id="a printer with a buffer"),
        pytest.param(CROWDED, "thread-oversubscription", {"OMP_NUM_THREADS": "64"}, id="64 threads"),
        pytest.param(DEADLOCKED, "deadlock", {}, id="a deadlocked pair"),
        pytest.param(ZOMBIES, "zombie-workers", {}, id="a zombie maker"),
    ],
)
def test_a_program_gets_the_right_verdict(
    tmp_path: Path, code: str, name: str, variables: dict[str, str]
) -> None:
    with watched(tmp_path, code, variables) as job:
        assert finds(job, name).evidence


@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount a small disk")
def test_a_program_that_fills_a_disk_gets_the_right_verdict(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount") or "mount"
    if subprocess.run([mount, "-t", "tmpfs", "-o", "size=200m", "jobmon", disk], check=False).returncode:
        pytest.skip("this machine mounts no tmpfs")
    try:
        with watched(tmp_path, FILLING, disk=disk) as job:
            event = finds(job, "disk-full")
        assert event.is_critical
    finally:
        subprocess.run([shutil.which("umount") or "umount", "-l", disk], check=True)


@pytest.mark.parametrize("code", HEALTHY.values(), ids=HEALTHY)
def test_a_healthy_program_gets_no_verdict(tmp_path: Path, code: str) -> None:
    with watched(tmp_path, code) as job:
        found: list[Event] = []
        _for_a_while(lambda: found.extend(job.look()))
        assert len(TaskTelemetry(tmp_path / "telemetry").history("n1")) >= 5
    assert found == []


def _for_a_while(look: Callable[[], object]) -> None:
    until_s = time.monotonic() + _HEALTHY_S
    eventually(lambda: bool(look()) or time.monotonic() > until_s)
