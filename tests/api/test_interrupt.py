"""A caller who is interrupted while a job is submitted: the submission goes on, once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from jobmon_core.store.home import Home
from jobmon_core.store.jobs import JobStore
from tests.support.processes import kill_all, processes_of
from tests.support.waiting import eventually

CALLER = """\
from jobmon import api
try:
    api.submit("train.sh")
except KeyboardInterrupt:
    print("interrupted", flush=True)
    input()
"""
SBATCH = """\
#!/bin/sh
touch started
while [ ! -e go ]; do sleep 0.05; done
echo "Submitted batch job 4711"
"""


def test_an_interrupt_ends_only_the_waiting(tmp_path: Path) -> None:
    home, programs = tmp_path / "home", tmp_path / "bin"
    home.mkdir(mode=0o700)
    programs.mkdir()
    (programs / "sbatch").write_text(SBATCH, encoding="utf-8")
    (programs / "sbatch").chmod(0o755)
    environment = {**os.environ, "JOBMON_HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}"}
    argv = [sys.executable, "-c", CALLER]
    caller = subprocess.Popen(
        argv, cwd=tmp_path, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
    )
    try:
        eventually((tmp_path / "started").exists)
        os.killpg(caller.pid, signal.SIGINT)  # as Ctrl-C in a terminal
        assert caller.stdout is not None
        assert caller.stdout.readline() == b"interrupted\n"
        (tmp_path / "go").touch()
        eventually(lambda: bool(processes_of(home)))  # the job has its monitor
    finally:
        caller.communicate(b"\n", timeout=300)
        kill_all(home)
    (path,) = JobStore(Home(home).state).paths()
    assert "-4711-" in path.name
