"""A user with many watched jobs. Not root: for root, slurmctld lists the jobs of all users."""

from __future__ import annotations

import json
import os
import pwd
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import psutil

from jobmon_core.context import Context
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.lifecycle.health import Health, JobStatus, list_jobs

_SUBMITTED = re.compile(r"^Submitted batch job (\d+)", re.MULTILINE)
_STEP_S = 0.1
_TIMEOUT_S = 300.0
# the interpreter may lie where only root can read
_READ_ALL_FILES = ("--clear-groups", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")


def drop_root() -> None:
    """If this process runs as root, restart it as the user nobody."""
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        ids = (f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}")
        os.execvp("setpriv", ["setpriv", *ids, *_READ_ALL_FILES, *sys.orig_argv])  # noqa: S606 - ourselves


def wait_until(condition: Callable[[], bool], description: str) -> None:
    """Wait until a condition holds; exit with ``description`` if that takes too long."""
    deadline_s = time.monotonic() + _TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline_s:
            raise SystemExit(f"waited {_TIMEOUT_S:g} s in vain: {description}")
        time.sleep(_STEP_S)


class BenchmarkUser:
    """Submits, watches and ends jobs with its own jobmon home."""

    def __init__(self, folder: Path, config: Mapping[str, object] | None = None, path: str = "") -> None:
        """Set up in ``folder``; programs in ``path`` come before others on ``PATH``."""
        self.folder = folder
        home = folder / "home"
        home.mkdir(mode=0o700)
        search_path = f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]
        self.environment = {**os.environ, "HOME": str(folder), "JOBMON_HOME": str(home), "PATH": search_path}
        if config:
            file = home / "config.json"
            file.write_text(json.dumps(config), encoding="utf-8")
            file.chmod(0o600)
        self.ctx = Context.open(self.environment)

    def run(self, argv: Sequence[str]) -> str:
        """Run a command that must succeed; return its stdout."""
        done = subprocess.run(
            argv, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(argv)} failed: {done.stdout}{done.stderr}")
        return done.stdout

    def jobmon(self, *arguments: str) -> str:
        """Run jobmon; return its stdout."""
        return self.run([sys.executable, "-m", "jobmon", *arguments])

    def submit(self, count: int, *options: str) -> list[int]:
        """Submit jobs through jobmon, one after the other; return their ids."""
        return [job_id(self.jobmon("submit", "--output=/dev/null", *options)) for _ in range(count)]

    def sbatch(self, count: int, *options: str) -> list[int]:
        """Submit jobs without jobmon; return their ids."""
        return [job_id(self.run(["sbatch", "--output=/dev/null", *options])) for _ in range(count)]

    def unfinished(self) -> list[JobStatus]:
        """Return the jobs that still need a monitor."""
        return [job for job in self._jobs() if job.health is not Health.DONE]

    def settle(self, jobs: int) -> list[int]:
        """Wait until ``jobs`` jobs were polled and their monitors sleep; return the monitors' PIDs."""
        wait_until(lambda: len(self._polled_by()) == jobs, f"{jobs} jobs are polled")
        pids = sorted(set(self._polled_by()))
        monitors = [psutil.Process(pid) for pid in pids]
        sleeping = psutil.STATUS_SLEEPING
        wait_until(lambda: all(each.status() == sleeping for each in monitors), "all monitors sleep")
        return pids

    def _polled_by(self) -> list[int]:
        """Return the PID of the living monitor of each job that was polled."""
        return [
            status.owner.pid
            for status in self.unfinished()
            if status.health is Health.ALIVE and status.owner and status.job.workdir
        ]

    def kill_monitors(self) -> None:
        """Kill all monitors."""
        jobs = self.unfinished()
        for pid in {job.owner.pid for job in jobs if job.owner and job.health is Health.ALIVE}:
            os.kill(pid, signal.SIGKILL)
        wait_until(
            lambda: all(job.health is Health.DEAD for job in self.unfinished()), "all monitors are dead"
        )

    def cancel_all(self) -> None:
        """Cancel all jobs of this user at the same time."""
        self.run(["scancel", f"--user={os.getuid()}"])

    def wait_until_done(self) -> None:
        """Wait until jobmon has reported the end of every job."""
        wait_until(lambda: not self.unfinished(), "all ends are reported")

    def wait_until_running(self, tasks: int) -> None:
        """Wait until jobmon has seen exactly ``tasks`` tasks run."""
        wait_until(lambda: self.tasks_in(JobState.RUNNING) == tasks, f"{tasks} tasks run")

    def tasks_in(self, state: JobState) -> int:
        """Return how many tasks are in a state, as far as jobmon knows."""
        return sum(task.state is state for status in self._jobs() for task in status.job.tasks.values())

    def _jobs(self) -> Iterator[JobStatus]:
        yield from (status for status in list_jobs(self.ctx) if isinstance(status, JobStatus))

    def close(self) -> None:
        """Cancel all jobs and kill all monitors."""
        self.cancel_all()
        self.kill_monitors()

    def wait_for_poll(self) -> None:
        """Wait until the queue is polled again."""
        (answer,) = self.ctx.home.shared_answers.glob("queue*.reply")
        before_ns = answer.stat().st_mtime_ns
        wait_until(lambda: answer.stat().st_mtime_ns != before_ns, "the queue is polled")


def job_id(stdout: str) -> int:
    """Return the job id that sbatch printed."""
    match = _SUBMITTED.search(stdout)
    if match is None:
        raise SystemExit(f"sbatch printed no job id: {stdout}")
    return int(match[1])
