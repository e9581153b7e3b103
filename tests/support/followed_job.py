"""A running job whose log grows, and its progress file."""

from __future__ import annotations

import os
from pathlib import Path

from jobmon_core.analysis.progress import follow_progress
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.slurm.log_paths import BY_SLURM, LogPaths
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.store.job_files import progress_file
from jobmon_core.store.telemetry import TaskTelemetry

START_S = 1_700_000_000
RUNNING = Task("", JobState.RUNNING, "RUNNING", start_s=START_S, limit_s=36_000)


class FollowedJob:
    """A job with a log that grows; the modification time of the log is the time of the test."""

    def __init__(self, folder: Path, settings: JobSettings | None = None) -> None:
        """Begin without a log; the progress file is in the same folder."""
        self.log, self.folder, self.now_s = folder / "job.out", folder, float(START_S)
        self.history = folder / "history"  # of ended runs
        self.waits_until_s: float | None = None  # when to look again at how long it waits
        logs = LogPaths(str(self.log), str(self.log), BY_SLURM)
        self.job = WatchedJob(
            "slurm-12-x",
            12,
            START_S - 10.0,
            workdir="/",  # of no relative path, but known
            logs=logs,
            settings=settings,
            tasks={"": RUNNING},
        )

    def later(self, seconds: float, text: str = "") -> tuple[Event, ...]:
        """Let time pass, append to the log, and look at it; return the latest events."""
        self.now_s += seconds
        if text:
            with self.log.open("a", encoding="utf-8") as file:
                file.write(text)
            os.utime(self.log, (self.now_s, self.now_s))
        found = follow_progress(
            (self.job,),
            lambda job_id: self.folder / f"{job_id}.json",
            self.now_s,
            telemetry_of=self.telemetry,
            history=self.history,
        )
        self.waits_until_s = found["slurm-12-x"].wait_s
        return found["slurm-12-x"].events

    def telemetry(self, _job_id: str, task: str) -> TaskTelemetry:
        """Return what agents measured of a task of the job."""
        return TaskTelemetry(self.folder / "telemetry" / (task or "job"))

    def write(self, path: Path, size_bytes: int, age_s: float = 0.0) -> None:
        """Write a file of some size; it was modified ``age_s`` seconds ago."""
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(size_bytes))
        os.utime(path, (self.now_s - age_s, self.now_s - age_s))

    def kinds(self, seconds: float, text: str = "") -> list[EventKind]:
        """Do as `later` does; return the kinds of the latest events other than milestones."""
        return [event.kind for event in self.later(seconds, text) if event.kind is not EventKind.MILESTONE]

    @property
    def saved(self) -> JobProgress:
        """The content of the progress file."""
        return progress_file(self.folder / "slurm-12-x.json").read()
