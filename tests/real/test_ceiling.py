"""Many jobs and a limited number of monitors, which restart themselves when their CPU budget is spent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.lifecycle.health import Health
from tests.support.processes import monitors_of
from tests.support.user import User
from tests.support.waiting import eventually

_JOBS, _MONITORS = 20, 3
_ADOPTION_TIMEOUT_S = 2.0  # after that, a job gets a monitor of its own in spite of the limit


def test_three_monitors_watch_twenty_jobs_and_report_each(user: User) -> None:
    user.configure(monitors={"at_most": _MONITORS})
    jobs, slow = [], 0
    for nth in range(_JOBS):
        begin_s = time.monotonic()
        jobs.append(user.submit("--hold", "-J", f"job{nth}", "--wrap", f"exit {nth % 2}"))
        slow += time.monotonic() - begin_s > _ADOPTION_TIMEOUT_S
    eventually(lambda: len(monitors_of(user.home)) <= _MONITORS + slow)
    assert len({user.monitor_pid(job_id) for job_id in jobs}) <= _MONITORS + slow
    user.slurm("scontrol", "release", ",".join(map(str, jobs)))
    for nth, job_id in enumerate(jobs):
        assert user.told(job_id).outcome is (Outcome.FAILURE if nth % 2 else Outcome.SUCCESS)
    assert len(user.discord.received()) == _JOBS
    assert not any("repeat" in str(payload) for payload in user.discord.received())
    eventually(lambda: not monitors_of(user.home))


# a monitor without a CPU budget: it and its successors hand over after each poll
_WITHOUT_CPU_BUDGET = """
import os, signal, sys
from jobmon_core.system.clock import Clock
from jobmon_core.lifecycle.process_state import ProcessState
from jobmon_core.context import Context
from jobmon_core.store.owner import acquire_job
signal.pthread_sigmask(signal.SIG_BLOCK, Clock.WAKING)
home = Context.open(os.environ).home
lock = acquire_job(home.lock_file(sys.argv[1]))
ProcessState(home, {sys.argv[1]: lock}, cpu_budget_s=0.0).exec_monitor()
"""


def test_a_job_is_reported_once_although_its_monitors_keep_handing_over(user: User) -> None:
    job_id = user.submit(user.script("until [ -e go ]; do sleep 0.5; done; exit 5"))
    os.kill(user.monitor_pid(job_id), signal.SIGKILL)
    eventually(lambda: user.snapshot(job_id).health is Health.DEAD)
    argv = [sys.executable, "-c", _WITHOUT_CPU_BUDGET, user.job(job_id).id]
    with subprocess.Popen(argv, cwd=user.work, env=user.environment, start_new_session=True) as process:
        eventually(lambda: user.snapshot(job_id).health is Health.ALIVE)
    eventually(lambda: (owner := user.snapshot(job_id).owner) is not None and owner.pid != process.pid)
    assert user.status(job_id)["monitor"] == "alive"
    (user.work / "go").touch()
    assert user.told(job_id).outcome is Outcome.FAILURE
    (payload,) = user.discord.received()
    assert "repeat" not in str(payload)
    assert user.jobmon("logs", str(job_id), "--monitor").stdout.count("hands over") > 1
