"""A user with many watched jobs. Not root: asked by root for his own jobs, slurmctld lists everybody's."""

from __future__ import annotations

import json
import os
import pwd
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.load_parts.processes import sleeps
from jobmon_core.context import Context
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.domain.tracking.model import WatchedJob
from jobmon_core.lifecycle.health import Health, JobStatus, list_jobs

INTERVAL_S = 5  # the floor
_ANSWERED = re.compile(r"^Submitted batch job (\d+)", re.MULTILINE)
_STEP_S = 0.1
_PATIENCE_S = 300.0
# it may read what root keeps for itself: the interpreter may lie there
_AS_NOBODY = ("--clear-groups", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")


def become_somebody() -> None:
    """Where root runs this, start it anew as the user nobody."""
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        who = (f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}")
        os.execvp("setpriv", ["setpriv", *who, *_AS_NOBODY, *sys.orig_argv])  # noqa: S606 - ourselves


def eventually(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while not condition():
        if time.monotonic() > deadline_s:
            raise SystemExit(f"not within {_PATIENCE_S:g} s: {what}")
        time.sleep(_STEP_S)


class Somebody:
    """Submits, watches and ends jobs, with a home of jobmon in a folder of his own."""

    def __init__(self, folder: Path, monitors: int, path: str = "") -> None:
        """Set up; ``monitors`` may run at once, and what lies in ``path`` is found before other programs."""
        self.folder = folder
        home = folder / "home"
        home.mkdir(mode=0o700)
        self.environment = {
            **os.environ,
            "HOME": str(folder),
            "JOBMON_HOME": str(home),
            "PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"],
        }
        poll = {"running_s": INTERVAL_S, "pending_s": INTERVAL_S}
        config = home / "config.json"
        config.write_text(json.dumps({"poll": poll, "monitors": {"at_most": monitors}}), encoding="utf-8")
        config.chmod(0o600)
        self.ctx = Context.open(self.environment)

    def run(self, argv: Sequence[str]) -> str:
        """Run a command, which must succeed; return what it printed."""
        done = subprocess.run(
            argv, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(argv)} failed: {done.stdout}{done.stderr}")
        return done.stdout

    def jobmon(self, *arguments: str) -> str:
        """Run jobmon."""
        return self.run([sys.executable, "-m", "jobmon", *arguments])

    def submit(self, count: int, *options: str) -> list[int]:
        """Submit so many jobs through jobmon, one after the other; return their ids."""
        return [_job_id(self.jobmon("submit", "--output=/dev/null", *options)) for _ in range(count)]

    def sbatch(self, count: int, *options: str) -> list[int]:
        """Submit so many jobs without jobmon; return their ids."""
        return [_job_id(self.run(["sbatch", "--output=/dev/null", *options])) for _ in range(count)]

    def watched(self) -> Iterator[JobStatus]:
        """Yield what is known of each job that is not told yet."""
        for found in list_jobs(self.ctx):
            if isinstance(found, JobStatus) and found.health is not Health.DONE:
                yield found

    def settle(self, jobs: int) -> list[int]:
        """Wait until so many jobs are watched, were looked at, and all monitors sleep; return their pids."""
        eventually(lambda: len(list(self._settled())) == jobs, f"{jobs} jobs are looked at")
        pids = sorted({pid for _, pid in self._settled()})
        eventually(lambda: all(map(sleeps, pids)), "all monitors sleep")
        return pids

    def _settled(self) -> Iterator[tuple[WatchedJob, int]]:
        for found in self.watched():
            if found.health is Health.ALIVE and found.owner and found.job.workdir:
                yield found.job, found.owner.pid

    def kill_monitors(self) -> None:
        """End all monitors without a warning."""
        pids = {found.owner.pid for found in self.watched() if found.owner and found.health is Health.ALIVE}
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: all(each.health is Health.DEAD for each in self.watched()), "they are dead")

    def end_all(self) -> None:
        """End all jobs at one moment, and wait until each is told."""
        self.run(["scancel", f"--user={os.getuid()}"])
        self.await_told()

    def await_told(self) -> None:
        """Wait until nothing is left to watch."""
        eventually(lambda: not any(True for _ in self.watched()), "all endings are told")

    def await_running(self, parts: int) -> None:
        """Wait until so many parts of this user's jobs run, and jobmon has seen them."""
        eventually(lambda: self._parts(JobState.RUNNING) == parts, f"{parts} parts run")

    def _parts(self, state: JobState) -> int:
        return sum(task.state is state for job in self._jobs() for task in job.tasks.values())

    def successes(self) -> int:
        """Return how many parts ended well, as far as jobmon knows."""
        return self._parts(JobState.COMPLETED)

    def _jobs(self) -> Iterator[WatchedJob]:
        yield from (found.job for found in list_jobs(self.ctx) if isinstance(found, JobStatus))

    def leave(self) -> None:
        """Leave neither jobs nor monitors behind."""
        self.run(["scancel", f"--user={os.getuid()}"])
        self.kill_monitors()

    def next_poll(self) -> None:
        """Wait for the moment that the queue has been asked."""
        (reply,) = self.ctx.home.shared_answers.glob("queue*.reply")
        before_ns = reply.stat().st_mtime_ns
        eventually(lambda: reply.stat().st_mtime_ns != before_ns, "the queue is asked")


def _job_id(printed: str) -> int:
    match = _ANSWERED.search(printed)
    if match is None:
        raise SystemExit(f"no job: {printed}")
    return int(match[1])
