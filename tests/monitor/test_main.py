"""The monitor process as a whole, in this process and with a clock that the test moves."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import Message, Tone
from jobmon_core.domain.tracking.model import WatchedJob
from jobmon_core.lifecycle.process_state import ProcessState, can_start_monitor
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


def test_a_monitor_whose_new_code_cannot_be_loaded_yet_continues_and_tries_again_five_minutes_later(
    running: Monitored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgraded = tmp_path / "upgraded"
    interpreter = tmp_path / "python"
    interpreter.write_text(f"#!/bin/sh\ntest -e {upgraded}\n")
    interpreter.chmod(0o755)
    continued_s: list[float] = []

    def log(_state_id: str, event: str) -> None:
        if "continues with its old code" in event:
            continued_s.append(running.clock.now())
            if len(continued_s) == 1:
                interpreter.rename(tmp_path / "moved")
            else:
                (tmp_path / "moved").rename(interpreter)
                upgraded.touch()

    def execv(_path: str, _argv: list[str]) -> None:
        continued_s.append(running.clock.now())
        raise Restarted

    def send_due(_sender: MessageSender) -> None:
        raise ImportError

    monkeypatch.setattr(sys, "executable", str(interpreter))
    monkeypatch.setattr(os, "execv", execv)
    monkeypatch.setattr(MessageSender, "send_due", send_due)
    with pytest.raises(Restarted):
        run(running.ctx, running.state, log)
    code_missing_s, interpreter_missing_s, restarted_s = continued_s
    assert interpreter_missing_s - code_missing_s >= 300
    assert restarted_s - interpreter_missing_s >= 300
    assert list(running.state.locks) == ["a"]


def test_the_code_of_this_checkout_can_start_a_monitor() -> None:
    assert can_start_monitor()


def test_a_lock_that_cannot_be_used_is_not_logged_as_an_internal_error(running: Monitored) -> None:
    running.ctx.messages.create(Message("m1", Route.ERROR, Tone.FAILURE, "it failed"))
    running.ctx.home.lock_file(MESSAGES).mkdir()
    running.clock.wakes = [Wake.TERMINATE]
    running.run()
    assert any(f"{MESSAGES}.lock" in line for line in running.log)
    assert not any("internal error" in line for line in running.log)
