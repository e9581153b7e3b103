"""Programs that run with an agent beside them, and the looks of a monitor at them.

Conditions must last for seconds here, by the job configuration, and not for minutes; the rules are the same.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from jobmon_core.analysis.progress import ProgressState, follow_progress
from jobmon_core.domain.job.job_progress import FollowedTask
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.node.telemetry.agent import AgentOptions, agent_command
from jobmon_core.domain.node.triage.state import Thresholds
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.store.json_file import JsonFile
from jobmon_core.store.telemetry import TaskTelemetry
from tests.support.waiting import PATIENCE_S, eventually

QUICK = Thresholds(must_last_s=4, startup_s=2, idle_s=10)
WITHIN_S = PATIENCE_S  # seconds are enough where nothing else runs
STEPS = "import itertools, os, time\nfor i in itertools.count(1):\n print(f'step {i}/100000', flush=True)\n "
_STEPS = 5  # of the progress, before a fault begins
_NO_SETTINGS = JobSettings()


class Within(NamedTuple):
    """Commands that start a program and its agent in another place, e.g. in a cgroup."""

    program: Sequence[str] = ()
    agent: Sequence[str] = ()


_HERE = Within()


@dataclass
class Watched:
    """A program that runs, with an agent beside it, and the monitor's looks at it."""

    folder: Path
    log: Path
    settings: JobSettings
    thresholds: Thresholds = QUICK
    ignored: tuple[str, ...] = ("noisy-neighbour",)  # other programs may fill this machine
    started_s: float = field(default_factory=time.time)

    @property
    def seen(self) -> tuple[int, int]:
        """How many samples of the progress and of the agent there are."""
        known = JsonFile(self.folder / "progress.json", ProgressState).read().tasks.get("", FollowedTask())
        return len(known.history.samples), len(TaskTelemetry(self.folder / "telemetry").history("n1"))

    def look(self) -> list[Event]:
        """Look at it as a monitor does; return the verdicts so far."""
        logs = LogPaths(str(self.log), str(self.log), BY_USER)
        task = Task("", JobState.RUNNING, "RUNNING", start_s=int(self.started_s))
        folder = str(self.folder)
        settings = replace(
            self.settings, thresholds=self.thresholds, output_dir=folder, output_pattern="out.txt"
        )
        job = WatchedJob("local-1-x", 1, self.started_s, logs=logs, tasks={"": task}, settings=settings)
        found = follow_progress(
            [job],
            lambda _: self.folder / "progress.json",
            time.time(),
            telemetry_of=lambda _job, _task: TaskTelemetry(self.folder / "telemetry"),
        )[job.id]
        assert found.problem == ""
        return [
            event
            for event in found.events
            if event.kind is EventKind.TROUBLE and event.subject not in self.ignored
        ]


@contextmanager
def watched(
    folder: Path,
    code: str,
    variables: Mapping[str, str] = MappingProxyType({}),
    *,
    disk: Path | None = None,
    settings: JobSettings = _NO_SETTINGS,
    gpus: Path | None = None,
    within: Within = _HERE,
    watched_pid: int | None = None,
) -> Iterator[Watched]:
    """Run a Python program, which holds the fake GPUs of a file, and an agent that reports every second.

    ``watched_pid`` is the process that the agent looks for, if not the program.
    """
    log, telemetry = folder / "job.out", folder / "telemetry"
    telemetry.mkdir()
    environment = {**os.environ, "PYTHONUNBUFFERED": "", **variables, "DISK": str(disk or folder)}
    with log.open("wb") as output:
        program = subprocess.Popen(
            [*within.program, sys.executable, "-c", code],
            stdout=output,
            env=environment,
            start_new_session=True,
        )
    disks = (str(disk),) if disk else ()
    pids = (watched_pid or program.pid,)
    options = AgentOptions(str(telemetry), pids=pids, node="n1", interval_s=1.0, disks=disks)
    if gpus:
        gpus.write_text(gpus.read_text().replace("PID", str(program.pid)))
    agent = subprocess.Popen(
        [*within.agent, sys.executable, *agent_command(options)],
        env={**os.environ, **variables},
        start_new_session=True,  # as in Slurm; it gets its share of a full machine
    )
    try:
        yield Watched(folder, log, settings)
    finally:
        os.killpg(program.pid, 9)
        program.wait()
        agent.terminate()
        agent.wait()


def finds(job: Watched, name: str) -> Event:
    """Wait for a verdict; no other one that is worth a message may come before it.

    A program that reads the file ``fault`` in its folder goes wrong when enough of its steps have been seen.
    """

    def is_found() -> bool:
        found = any(event.subject == name for event in job.look())
        if job.seen[0] >= _STEPS:
            (job.folder / "fault").touch()
        return found

    eventually(is_found, WITHIN_S)
    events = job.look()
    assert [event.subject for event in events if not event.is_quiet and event.subject != name] == []
    return next(event for event in events if event.subject == name)
