"""The agents of a user's jobs: their processes, and what they have reported."""

from __future__ import annotations

import psutil

from jobmon_core.context import Context
from jobmon_core.domain.node.telemetry.agent import AGENT_MODULE
from jobmon_core.store.telemetry import TaskTelemetry
from tests.support.user import User
from tests.support.waiting import eventually


def agents_of(user: User) -> dict[int, str]:
    """Return the agents of all jobs of a user: the name of the program by PID, e.g. srun or python."""
    found = {}
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
            if AGENT_MODULE in command and any(str(user.home) in word for word in command):
                found[process.pid] = process.name()
        except psutil.Error:  # it has just ended, or is a zombie
            continue
    return found


def telemetry(user: User, job_id: int, key: str = "") -> TaskTelemetry:
    """Return what agents reported of a task."""
    return Context.open(user.environment).telemetry(user.job(job_id).id, key)


def reported(user: User, job_id: int, nodes: int = 1) -> None:
    """Wait until the agents of a job have reported from so many nodes."""
    eventually(lambda: len(telemetry(user, job_id).nodes()) >= nodes)
