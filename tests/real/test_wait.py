"""``jobmon wait`` on the real Slurm: its exit codes, and what many waits cost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.processes import is_running
from tests.support.user import User
from tests.support.waiting import PATIENCE_S, eventually

_WAITERS = 20
_FORKED_WAITS = """
import os, sys
import jobmon.commands.wait
from jobmon.cli import main
pids = []
for _ in range(int(sys.argv[1])):
    pids.append(os.fork())
    if not pids[-1]:
        os._exit(main(["wait", sys.argv[2]]))
print(*(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids))
"""
_QUERIES = ("squeue", "sacct", "scontrol", "sinfo", "sbatch")


def _waiters(user: User, path: str, job_id: int) -> subprocess.Popen[str]:
    """Start a process that forks `_WAITERS` waits, which saves their imports, and prints their exit codes."""
    return subprocess.Popen(
        [sys.executable, "-c", _FORKED_WAITS, str(_WAITERS), str(job_id)],
        cwd=user.work,
        env={**user.environment, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _path_with_recorded_queries(folder: Path, path: str) -> str:
    """Return a PATH whose Slurm programs note each of their runs in ``folder``/runs, and fail."""
    folder.mkdir()
    for name in _QUERIES:
        (folder / name).write_text(f'#!/bin/sh\necho "{name} $*" >> "{folder}/runs"\nexit 1\n')
        (folder / name).chmod(0o755)
    return f"{folder}:{path}"


def test_the_exit_code_says_how_the_jobs_ended_and_waits_ask_slurm_nothing(user: User) -> None:
    path = _path_with_recorded_queries(user.work / "bin", user.environment["PATH"])
    good = user.submit("-J", "good", "--wrap", "until [ -e go ]; do sleep 0.5; done")
    held = user.submit("--hold", "-J", "held", "--wrap", "true")
    waiters = _waiters(user, path, good)
    bad = user.submit("-J", "bad", "--wrap", "exit 3")
    assert user.jobmon("wait", str(bad)).returncode == 1
    user.watched_as(good, "RUNNING")

    still = user.jobmon("wait", str(good), str(bad), "--for", "1s", PATH=path)
    assert still.returncode == 3
    assert still.stdout == f"2 jobs: 1 failed, 1 running; {bad} bad: exit code 3\n"
    assert user.jobmon("wait", "999999", PATH=path).returncode == 4

    assert waiters.poll() is None
    (user.work / "go").touch()
    printed, errors = waiters.communicate(timeout=PATIENCE_S)
    assert printed.splitlines()[-1].split() == ["0"] * _WAITERS, errors
    assert printed.count(f"job {good} good: COMPLETED after ") == _WAITERS  # lines of processes may mix
    assert not (user.work / "bin" / "runs").exists()

    pid = user.monitor_pid(held)
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not is_running(pid))
    restarted = user.jobmon("wait", str(held), "--for", "1s")
    assert (restarted.returncode, "its monitor was dead; restarted" in restarted.stderr) == (3, True)
    assert user.jobmon("cancel", str(held)).returncode == 0
    assert user.jobmon("wait", str(held)).returncode == 4
