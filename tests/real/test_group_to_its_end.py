"""A group of jobs on the real Slurm, from the first submission to the message about all of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from pathlib import Path

from tests.support.messages import title
from tests.support.processes import is_running
from tests.support.user import User
from tests.support.waiting import eventually

_INTERVAL_S = 5
_RUNS = """
ok/epoch0: --hold {script} 0
ok/epoch1: --hold {script} 0
bad/epoch0: {script} 3
slow/epoch0: --hold {script} 0
"""
_EVENT = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\] ([A-Z_]+): (.+)$", re.MULTILINE)


def _events(user: User) -> list[tuple[str, str, str]]:
    """Return time, name and subject of each event in the log of the group."""
    path = user.home / "logs" / "group-sweep1.log"
    return _EVENT.findall(path.read_text("utf-8")) if path.exists() else []


def _has(user: User, event: str, subject: str) -> bool:
    return any(each[1:] == (event, subject) for each in _events(user))


def _titles(user: User) -> list[str]:
    return [title(each) for each in user.discord.received()]


def _counting_path(user: User) -> tuple[str, Path]:
    """Return a PATH whose squeue notes each of its runs in a file, and the file."""
    folder, runs = user.work / "bin", user.work / "squeue-runs"
    folder.mkdir()
    squeue = shutil.which("squeue", path=user.environment["PATH"])
    (folder / "squeue").write_text(f'#!/bin/sh\necho run >> "{runs}"\nexec {squeue} "$@"\n')
    (folder / "squeue").chmod(0o755)
    return f"{folder}:{user.environment['PATH']}", runs


def test_eight_jobs_with_mixed_ends_are_followed_to_the_end_although_their_monitor_is_killed(
    user: User,
) -> None:
    user.configure(poll={"running_s": _INTERVAL_S, "pending_s": _INTERVAL_S})
    path, squeue_runs = _counting_path(user)
    script = user.script('until [ -e go ]; do sleep 0.5; done; exit "$1"')
    (user.work / "runs.yaml").write_text(_RUNS.format(script=script), encoding="ascii")
    started_s = time.monotonic()
    options = ("--interval", f"{_INTERVAL_S}s", "--messages", "none", "--then", "cp summary.seen then.ran")
    submitted = user.jobmon("group", "submit", "sweep1", "runs.yaml", *options, PATH=path)
    assert submitted.returncode == 0, submitted.stderr
    members = json.loads((user.home / "state" / "groups" / "sweep1.json").read_text())["members"]
    bad = members["bad/epoch0"]["state_id"].split("-")[1]
    (user.work / "summary.seen").touch()

    def add(name: str, *arguments: str) -> int:
        return user.submit("--group", "sweep1", "-J", name, *arguments, PATH=path)

    never = add("never", f"--dependency=afterok:{bad}", script, "0")
    cancelled = add("cancelled", script, "0")
    others = [add(name, script, "0") for name in ("c", "d")]
    pids = {user.monitor_pid(job_id) for job_id in (never, cancelled, *others, bad)}
    assert len(pids) == 1  # one monitor for the whole group
    eventually(lambda: _has(user, "STATE_CHANGE", "d"))

    (pid,) = pids
    os.kill(pid, signal.SIGKILL)
    user.slurm("scancel", str(cancelled))
    eventually(lambda: not is_running(pid))
    assert "restarted" in user.jobmon("recover", PATH=path).stdout
    (user.work / "go").touch()
    for name in ("ok/epoch0", "ok/epoch1", "slow/epoch0"):
        user.slurm("scontrol", "release", members[name]["state_id"].split("-")[1])
    eventually(lambda: bool(_events(user)) and _events(user)[-1][1] == "ALL_COMPLETE")
    elapsed_s = time.monotonic() - started_s

    # each submission may need an answer of its own
    assert len(squeue_runs.read_text().splitlines()) <= elapsed_s / _INTERVAL_S + 8 + 2
    events = _events(user)
    assert [each[0] for each in events] == sorted(each[0] for each in events)
    assert sum(each[1] == "ALL_COMPLETE" for each in events) == 1
    changes = [each[2] for each in events if each[1] == "STATE_CHANGE"]
    assert set(changes) == {*members, "never", "cancelled", "c", "d"}
    metrics = [each[2] for each in events if each[1] == "COMPUTE_METRICS"]
    assert sorted(metrics) == sorted({*changes} - {"never"})  # each once
    assert _has(user, "NEVER_STARTS", "never")

    expected = "sweep1 is complete: 5 completed, 1 cancelled, 1 can never start, 1 failed"
    eventually(lambda: any(expected in each for each in _titles(user)))
    # besides it, there is only the alert about the job that can never start
    assert sum(expected in each for each in _titles(user)) == 1
    assert [each for each in _titles(user) if expected not in each and f"({never})" not in each] == []
    summary = json.loads((user.home / "state" / "groups" / "sweep1.summary").read_text())
    assert summary["counts"] == {"completed": 5, "cancelled": 1, "can never start": 1, "failed": 1}
    eventually((user.work / "then.ran").exists)
    user.slurm("scancel", str(never))
