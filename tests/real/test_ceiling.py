"""Many submissions on the real Slurm, few monitors: every job is told, and no monitor grows old."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.lifecycle.health import Health
from tests.support.processes import monitors_of
from tests.support.user import User
from tests.support.waiting import eventually

_JOBS, _MONITORS = 20, 3


def test_twenty_submissions_are_followed_by_three_monitors_and_all_are_told(user: User) -> None:
    user.configure(monitors={"at_most": _MONITORS})
    jobs, most = [], 0
    for nth in range(_JOBS):
        jobs.append(user.submit("-J", f"job{nth}", "--wrap", f"exit {nth % 2}"))
        most = max(most, len(monitors_of(user.home)))
    assert most <= _MONITORS
    for nth, job_id in enumerate(jobs):
        assert user.told(job_id).outcome is (Outcome.FAILURE if nth % 2 else Outcome.SUCCESS)
    assert len(user.discord.received()) == _JOBS
    assert not any("repeat" in str(payload) for payload in user.discord.received())
    eventually(lambda: not monitors_of(user.home))


# a monitor without any allowance of CPU time: it hands over after each look, and so does each that follows
_WORN = """
import os, signal, sys
from jobmon_core.system.clock import SystemClock
from jobmon_core.lifecycle.process_state import ProcessState
from jobmon_core.context import Context
from jobmon_core.store.job_lock import acquire_job
signal.pthread_sigmask(signal.SIG_BLOCK, SystemClock.WAKING)
home = Context.open(os.environ).home
lock = acquire_job(home.monitors / f"{sys.argv[1]}.lock")
ProcessState(home, {sys.argv[1]: lock}, cpu_budget_s=0.0).exec_monitor()
"""


def test_a_job_is_told_once_though_its_monitors_hand_over_all_the_time(user: User) -> None:
    job_id = user.submit(user.script("until [ -e go ]; do sleep 0.1; done; exit 5"))
    os.kill(user.monitor_pid(job_id), signal.SIGKILL)
    eventually(lambda: user.snapshot(job_id).health is Health.DEAD)
    worn = [sys.executable, "-c", _WORN, user.job(job_id).id]
    with subprocess.Popen(worn, cwd=user.work, env=user.environment, start_new_session=True) as process:
        eventually(lambda: user.snapshot(job_id).health is Health.ALIVE)
    eventually(lambda: user.monitor_pid(job_id) != process.pid)
    assert user.status(job_id)["monitor"] == "alive"
    (user.work / "go").touch()
    assert user.told(job_id).outcome is Outcome.FAILURE
    (payload,) = user.discord.received()
    assert "repeat" not in str(payload)
    assert user.jobmon("logs", str(job_id)).stdout.count("hands over") > 1
