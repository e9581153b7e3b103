"""A job that waits for a file and then fails, and the check of its one message."""

from __future__ import annotations

import os
import signal

from jobmon_core.domain.channels import Route
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.lifecycle.health import Health
from tests.support.messages import only
from tests.support.user import User
from tests.support.waiting import eventually

UNTIL_GO = "until [ -e go ]; do sleep 0.5; done; exit 5"


def let_go(user: User) -> None:
    (user.work / "go").touch()


def kill(user: User, job_id: int) -> None:
    os.kill(user.monitor_pid(job_id), signal.SIGKILL)
    eventually(lambda: user.snapshot(job_id).health is Health.DEAD)


def assert_failed_and_told_once(user: User, job_id: int) -> None:
    assert user.told(job_id).outcome is Outcome.FAILURE
    assert str(job_id) in str(only(user, Route.ERROR))
