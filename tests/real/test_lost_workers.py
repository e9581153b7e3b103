"""One of four workers ends before the others: told if it was killed, and not if it had finished."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.channels import Route
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.node.telemetry.model import Worker, WorkerStatus
from tests.support.messages import title
from tests.support.user import User
from tests.support.waiting import eventually

_WORKER = Path(__file__).with_name("programs") / "worker.py"
_SETTINGS = "{monitoring: {check_interval: 5}, thresholds: {must_last_s: 30, startup_s: 5, idle_s: 3600}}"
_OLD_ENOUGH_S = 11.0  # a worker without a rank is noted when it ends if it ran for ten seconds
_LASTING_S = 20.0  # three times as long as an end must last here to be reported
_SHELL = """\
for i in 0 1 2 3; do
    %s "$PYTHON" "$WORKER" $i %s > out_$i.txt & echo $! > pid_$i; sleep 0.05
done
wait
"""
_PYTHON = """\
import os, subprocess, sys
argv = [os.environ["PYTHON"], os.environ["WORKER"]]
workers = [subprocess.Popen([*argv, str(i), "none"], stdout=subprocess.DEVNULL,
                            env={**os.environ, "RANK": str(i)}) for i in range(4)]
for worker in workers:
    worker.wait()
"""


class Sets:
    """Sets of four workers, each in a folder of its own."""

    def __init__(self, user: User, stack: ExitStack) -> None:
        self._user, self._stack = user, stack
        self._environment = {**user.environment, "PYTHON": sys.executable, "WORKER": str(_WORKER)}
        self.folders: dict[str, Path] = {}

    def folder(self, name: str) -> Path:
        folder = self.folders[name] = self._user.work / name
        folder.mkdir()
        (folder / "jobmon.yaml").write_text(_SETTINGS, encoding="utf-8")
        return folder

    def start(self, name: str, *command: str) -> int:
        """Start a command in the folder of a set; return its PID."""
        process = subprocess.Popen(
            command, cwd=self.folders[name], env=self._environment, stdout=subprocess.DEVNULL
        )
        self._stack.callback(process.wait)
        return process.pid

    def run(self, name: str, *command: str) -> None:
        """Run a command by ``jobmon run``."""
        jobmon = (sys.executable, "-m", "jobmon", "run", "--name", name, "--job-config", "jobmon.yaml")
        self.folder(name)
        self.start(name, *jobmon, "--", *command)

    def srun(self, name: str, *options: str) -> None:
        """Submit a job whose step runs the workers."""
        step = f'srun {" ".join(options)} sh -c \'"$PYTHON" "$WORKER" $SLURM_PROCID none\'\nexit 0'
        folder = self.folder(name)
        (folder / "job.sh").write_text(f"#!/bin/sh\ncd {folder}\n{step}\n", encoding="utf-8")
        variables = {key: self._environment[key] for key in ("PYTHON", "WORKER")}
        script = str(folder / "job.sh")  # beside it is its configuration
        self._user.submit("-J", name, "-n", "4", "-t", "10", "--mem=60", script, **variables)

    def watch(self, name: str, *options: str) -> None:
        """Watch processes that run already."""
        settings = str(self.folders[name] / "jobmon.yaml")
        done = self._user.jobmon("watch", "--name", name, "--job-config", settings, *options)
        assert done.returncode == 0, done

    def workers(self, name: str) -> list[Worker]:
        """Return what the agents of a set report."""
        ctx = Context.open(self._user.environment)
        jobs = [job for job in _jobs(self._user) if job.name == name]
        telemetry = [ctx.telemetry(job.id, key) for job in jobs for key in job.tasks]
        return [
            worker
            for each in telemetry
            for node in each.nodes()
            for worker in each.report(node).latest.workers
        ]

    def have_run(self, name: str) -> bool:
        alive = [each for each in self.workers(name) if each.status is not WorkerStatus.DEAD]
        return len(alive) == 4 and all(time.time() - each.started_s > _OLD_ENOUGH_S for each in alive)

    def has_lost_one(self, name: str) -> bool:
        gone = (WorkerStatus.DEAD, WorkerStatus.ZOMBIE)
        return sum(each.status in gone for each in self.workers(name)) == 1

    def touch(self, file: str) -> None:
        for folder in self.folders.values():
            (folder / file).touch()


@pytest.fixture
def sets(user: User) -> Iterator[Sets]:
    user.configure(agent={})
    with ExitStack() as stack:
        sets = Sets(user, stack)
        stack.callback(lambda: sets.touch("finish_all"))  # before the programs are waited for
        yield sets
        sets.touch("finish_all")


def _jobs(user: User) -> list[WatchedJob]:
    jobs = Context.open(user.environment).store.all()
    return [job for job in jobs if isinstance(job, WatchedJob)]


def _told(user: User) -> list[str]:
    return [title(payload) for payload in user.discord.received(Route.ERROR)]


def test_a_killed_worker_is_critical_however_it_is_watched(user: User, sets: Sets) -> None:
    sets.run("ranks", "bash", "-c", _SHELL % ("RANK=$i", "none"))
    sets.run("plain", "bash", "-c", _SHELL % ("", "none"))
    sets.srun("step", "--kill-on-bad-exit=0")
    pids = {}
    for name in ("pids", "launcher"):
        sets.folder(name)
        pids[name] = sets.start(name, "bash", "-c", _SHELL % ("", "none"))
        last = sets.folders[name] / "pid_3"
        eventually(lambda last=last: last.exists() and last.read_text() != "")  # type: ignore[misc]  # one of them
    files = sorted(sets.folders["pids"].glob("pid_*"))
    (sets.folders["pids"] / "all").write_text("".join(file.read_text() for file in files))
    sets.watch("pids", "--pid-file", str(sets.folders["pids"] / "all"))
    sets.watch("launcher", "--pid", str(pids["launcher"]))
    eventually(lambda: all(map(sets.have_run, sets.folders)))
    killed_s = time.time()
    sets.touch("die")
    eventually(lambda: len(_told(user)) >= len(sets.folders))
    print(f"told {time.time() - killed_s:.0f} s after the death")
    found = _told(user)
    assert {text.split()[1] for text in found} == sets.folders.keys()
    assert all(text.startswith("❌") and text.endswith("3 of 4 workers go on") for text in found), found
    sets.touch("finish_all")
    jobs = {job.name: job.job_id for job in _jobs(user)}
    for name in ("ranks", "plain", "step"):
        assert user.told(jobs[name]).is_doubtful_success, name
    for name in ("pids", "launcher"):
        (task,) = user.told(jobs[name]).tasks.values()
        assert task.diagnosis is not None
        assert task.diagnosis.cause == "lost_worker"


def test_a_worker_that_finishes_before_the_others_is_no_death(user: User, sets: Sets) -> None:
    sets.run("total", "bash", "-c", _SHELL % ("RANK=$i", "total"))
    sets.run("line", "bash", "-c", _SHELL % ("", "line"))
    sets.srun("step")
    sets.run("code", sys.executable, "-c", _PYTHON)  # its parent waits for another one first
    eventually(lambda: all(map(sets.have_run, sets.folders)))
    sets.touch("finish")
    eventually(lambda: all(map(sets.has_lost_one, sets.folders)))
    until_s = time.monotonic() + _LASTING_S
    eventually(lambda: bool(_told(user)) or time.monotonic() > until_s)
    assert _told(user) == []
    sets.touch("finish_all")
    for job in _jobs(user):
        assert not user.told(job.job_id).is_doubtful_success, job.name
    assert _told(user) == []
