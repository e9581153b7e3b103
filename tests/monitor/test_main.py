"""The monitor process as a whole, in this process and with a clock that the test moves."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Message
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.lifecycle import process_state
from jobmon_core.lifecycle.process_state import ProcessState
from jobmon_core.monitor.jobless_messages import MESSAGES, MessageSender
from jobmon_core.monitor.main import run
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
    interpreter = Path(_interpreter(tmp_path, f"test -e {upgraded}"))
    continued_s: list[float] = []

    def log(_state_id: str, event: str) -> None:
        if "continues with its old code" in event:
            continued_s.append(running.clock.now())
            if len(continued_s) == 1:
                interpreter.rename(tmp_path / "moved")
            elif len(continued_s) == 2:
                (tmp_path / "moved").rename(interpreter)
                upgraded.touch()

    tried_s: list[float] = []

    def exec_monitor(_state: ProcessState) -> None:
        tried_s.append(running.clock.now())
        if len(tried_s) == 1:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        raise Restarted

    def send_due(_sender: MessageSender) -> None:
        raise ImportError

    monkeypatch.setattr(sys, "executable", str(interpreter))
    monkeypatch.setattr(ProcessState, "exec_monitor", exec_monitor)
    monkeypatch.setattr(MessageSender, "send_due", send_due)
    with pytest.raises(Restarted):
        run(running.ctx, running.state, log)
    code_missing_s, interpreter_missing_s, just_removed_s = continued_s
    assert just_removed_s == tried_s[0]
    for before_s, after_s in pairwise((code_missing_s, interpreter_missing_s, *tried_s)):
        assert after_s - before_s >= 300
    assert list(running.state.locks) == ["a"]


def test_the_code_of_this_checkout_can_start_a_monitor(running: Monitored) -> None:
    assert running.state.can_start_monitor()


def test_a_monitor_can_restart_although_the_process_that_started_it_ignored_sigchld(
    running: Monitored,
) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert running.state.can_start_monitor()
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_trial_of_new_code_does_not_hold_the_locks_of_the_monitor(
    running: Monitored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = tmp_path / "held"
    monkeypatch.setattr(sys, "executable", _interpreter(tmp_path, f"ls -l /proc/$$/fd > {held}"))
    assert running.state.can_start_monitor()
    assert running.ctx.home.lock_file("a").exists()
    assert "a.lock" not in held.read_text(encoding="ascii")


def test_a_trial_of_new_code_that_hangs_does_not_stop_the_monitor(
    running: Monitored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_state, "_TRIAL_S", 1)
    monkeypatch.setattr(sys, "executable", _interpreter(tmp_path, "exec sleep 600"))
    began_s = time.monotonic()
    assert not running.state.can_start_monitor()
    assert time.monotonic() - began_s < 300


def _interpreter(folder: Path, command: str) -> str:
    """Return the path of a program that runs a command of the shell in place of Python."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{command}\n", encoding="ascii")
    program.chmod(0o755)
    return str(program)


def test_a_lock_that_cannot_be_used_is_not_logged_as_an_internal_error(running: Monitored) -> None:
    running.ctx.messages.create(Message("m1", Route.ERROR, Tone.FAILURE, "it failed"))
    running.ctx.home.lock_file(MESSAGES).mkdir()
    running.clock.wakes = [Wake.TERMINATE]
    running.run()
    assert any(f"{MESSAGES}.lock" in line for line in running.log)
    assert not any("internal error" in line for line in running.log)
