"""The monitor process as a whole, in this process and with a clock that the test moves."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import Message, Tone
from jobmon_core.domain.tracking.model import WatchedJob
from jobmon_core.lifecycle.process_state import ProcessState
from jobmon_core.monitor.main import run
from jobmon_core.monitor.messages.sender import MESSAGES, MessageSender
from jobmon_core.store.home import Home
from jobmon_core.store.owner import acquire_job
from jobmon_core.system.clock import Wake
from tests.support.clock import FakeClock

JOB = WatchedJob("a", 12, 100.0, backend="local", user="me")


class Restarted(Exception):
    """The monitor replaced itself by a fresh one."""


class Monitored:
    """A home with one job that does not end within a day, and its monitor, which runs when a test says so."""

    def __init__(self, folder: Path, job: WatchedJob) -> None:
        self.clock = FakeClock()
        self.ctx = Context(Home(folder), {}, clock=self.clock)
        self.ctx.home.config.write_text(json.dumps({"accounting": {"deadline_s": 86_400}}), encoding="ascii")
        self.ctx.home.config.chmod(0o600)
        self.ctx.store.save(job)
        self.state = ProcessState(self.ctx.home, {job.id: acquire_job(self.ctx.home.lock_file(job.id))})
        self.ctx.locks = self.state
        self.log: list[str] = []

    def run(self) -> None:
        run(self.ctx, self.state, lambda _state_id, event: self.log.append(event))


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Monitored]:
    monitored = Monitored(tmp_path, JOB)
    yield monitored
    for state_id in list(monitored.state.locks):
        monitored.state.release(state_id)


def test_a_monitor_that_cannot_restart_continues_and_tries_again_five_minutes_later(
    running: Monitored, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried_s: list[float] = []

    def execv(_path: str, _argv: list[str]) -> None:
        tried_s.append(running.clock.now())
        if len(tried_s) == 1:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        raise Restarted

    def send_due(_sender: MessageSender) -> None:
        raise ImportError

    monkeypatch.setattr(os, "execv", execv)
    monkeypatch.setattr(MessageSender, "send_due", send_due)
    with pytest.raises(Restarted):
        running.run()
    assert tried_s[1] - tried_s[0] >= 300
    (failure,) = (line for line in running.log if "restart failed" in line)
    assert "continues" in failure
    assert failure.endswith("No such file or directory")
    assert list(running.state.locks) == ["a"]


def test_a_lock_that_cannot_be_used_is_not_logged_as_an_internal_error(running: Monitored) -> None:
    running.ctx.messages.create(Message("m1", Route.ERROR, Tone.FAILURE, "it failed"))
    running.ctx.home.lock_file(MESSAGES).mkdir()
    running.clock.wakes = [Wake.TERMINATE]
    running.run()
    assert any(f"{MESSAGES}.lock" in line for line in running.log)
    assert not any("internal error" in line for line in running.log)
