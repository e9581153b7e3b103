"""A user at a terminal: runs jobmon and Slurm commands and checks their effects."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from jobmon_core.context import Context
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.lifecycle.health import Health, JobStatus, job_status, list_jobs
from jobmon_core.store.jobs import JobStore
from tests.support.fake_discord import FakeDiscord
from tests.support.files import write_whole
from tests.support.processes import is_running, kill_monitors
from tests.support.waiting import PATIENCE_S, eventually
from tests.support.warm_jobmon import run_jobmon, run_program


class User:
    """One user with a home of jobmon, a folder to work in, and two Discord channels."""

    def __init__(self, folder: Path, discord: FakeDiscord, environment: Mapping[str, str]) -> None:
        self.discord = discord
        self.home = folder / "home"
        self.work = folder / "work"
        self.home.mkdir(mode=0o700)
        self.work.mkdir(mode=0o755)
        self.environment = {**environment, "JOBMON_HOME": str(self.home)}
        self.configure()

    def configure(self, **sections: object) -> None:
        """Write the configuration: webhooks, the shortest intervals, no digests or cards, ``sections``.

        Without a section ``agent`` there are no agents: each would be a further step of its job.
        """
        config: dict[str, object] = {
            "discord": {"success_webhook": self.discord.success_url, "error_webhook": self.discord.error_url},
            "poll": {"running_s": 5, "pending_s": 5},
            "messages": {"digest_from": 0, "card": "off"},
            "agent": {"enabled": False},
            **sections,
        }
        write_whole(self.home / "config.json", json.dumps(config), 0o600)

    def run(self, *argv: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the user's folder, whether it fails or not."""
        return run_program(argv, self.work, {**self.environment, **environment}, stdin, PATIENCE_S)

    def jobmon(
        self, *arguments: str, stdin: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run jobmon."""
        return run_jobmon(arguments, self.work, {**self.environment, **environment}, stdin, PATIENCE_S)

    def slurm(self, *argv: str) -> str:
        """Run a Slurm command, which must succeed; return its stdout."""
        done = self.run(*argv)
        assert done.returncode == 0, done
        return done.stdout

    def script(self, body: str, *directives: str, name: str = "job.sh") -> str:
        """Write a batch script; return its name."""
        lines = ["#!/bin/bash", *(f"#SBATCH {directive}" for directive in directives), body, ""]
        (self.work / name).write_text("\n".join(lines), encoding="utf-8")
        return name

    def submit(self, *arguments: str, stdin: str = "", **environment: str) -> int:
        """Submit through jobmon, which must succeed; return the job id."""
        done = self.jobmon("submit", *arguments, stdin=stdin, **environment)
        match = re.search(r"^(?:Submitted batch job )?(\d+)", done.stdout, re.MULTILINE)
        assert match, done
        return int(match[1])

    def job(self, job_id: int | str) -> WatchedJob:
        """Return the state of the newest submission with this job id."""
        found = self._states(job_id)
        assert found, f"job {job_id} has no state file"
        return found[-1]

    def is_recorded(self, job_id: int | str, timeout_s: float = PATIENCE_S) -> None:
        """Wait until a job has a state file; an attempt that a monitor submits runs before it has one."""
        eventually(lambda: bool(self._states(job_id)), timeout_s)

    def _states(self, job_id: int | str) -> list[WatchedJob]:
        return list(JobStore(self.home / "state").find(JobRef.parse(str(job_id))))

    def snapshot(self, job_id: int | str) -> JobStatus:
        """Return what `jobmon status` shows of a job."""
        return job_status(Context.open(self.environment), self.job(job_id))

    def told(self, job_id: int | str, timeout_s: float = PATIENCE_S) -> WatchedJob:
        """Wait until the job's messages are delivered and its monitor is gone; return its state."""
        self.is_recorded(job_id, timeout_s)
        eventually(lambda: self.snapshot(job_id).health is Health.DONE, timeout_s)
        return self.job(job_id)

    def in_state(self, job_id: int | str, state: str, timeout_s: float = PATIENCE_S) -> None:
        """Wait until Slurm shows a job in a state."""
        listing = ("squeue", "-h", "-t", "all", "-j", str(job_id), "-o", "%T")
        eventually(lambda: state in self.run(*listing).stdout.split(), timeout_s)

    def at_its_limit(self, job_id: int | str) -> None:
        """Bring a running job to its time limit, unless it gets there before."""
        update = ("scontrol", "update", f"jobid={job_id}", "endtime=now")  # fails in the second of the start
        listing = ("squeue", "-h", "-t", "all", "-j", str(job_id), "-o", "%T")
        eventually(
            lambda: self.run(*update).returncode == 0 or "TIMEOUT" in self.run(*listing).stdout.split()
        )

    def watched_as(self, job_id: int | str, raw_state: str, timeout_s: float = PATIENCE_S) -> None:
        """Wait until jobmon has seen a job in a state."""
        self.is_recorded(job_id, timeout_s)
        eventually(
            lambda: any(task.raw_state == raw_state for task in self.job(job_id).tasks.values()), timeout_s
        )

    def watched_as_waiting(self, job_id: int | str, indices: str, timeout_s: float = PATIENCE_S) -> None:
        """Wait until jobmon has seen these tasks of an array pending."""
        self.is_recorded(job_id, timeout_s)
        eventually(lambda: self.job(job_id).pending_indices == indices, timeout_s)

    def status(self, job_id: int | str) -> dict[str, Any]:
        """Return the object of a job in `jobmon status --json`."""
        done = self.jobmon("status", "--json")
        assert done.returncode == 0, done
        (found,) = (each for each in json.loads(done.stdout) if each["job_id"] == str(job_id))
        return dict(found)

    def monitor_pid(self, job_id: int | str) -> int:
        """Return the PID of the monitor of a job."""
        owner = self.snapshot(job_id).owner
        assert owner is not None, f"job {job_id} has no monitor"
        return owner.pid

    @contextmanager
    def paused_monitor(self, job_id: int | str) -> Iterator[None]:
        """Suspend a job's monitor, after the commands that it started have ended."""
        pid = self.monitor_pid(job_id)
        os.kill(pid, signal.SIGSTOP)
        try:
            children = [child.pid for child in psutil.Process(pid).children()]
            eventually(lambda: not any(map(is_running, children)))
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def is_forgotten(self, job_id: int | str) -> bool:
        """Return whether slurmctld has forgotten an ended job."""
        return "Invalid job id" in self.run("scontrol", "show", "job", str(job_id)).stderr

    def leave(self) -> None:
        """Kill the monitors and cancel the jobs that the test left behind."""
        found = list_jobs(Context.open(self.environment))
        jobs = [str(each.job.job_id) for each in found if isinstance(each, JobStatus)]
        kill_monitors(self.home)
        if jobs and "SLURM_CONF" in self.environment:
            self.run("scancel", *jobs)
