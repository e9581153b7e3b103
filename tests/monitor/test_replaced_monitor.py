"""A monitor without heartbeats for long, whose job another monitor took over meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.lifecycle.health import Health
from jobmon_core.store.owner import Owner
from jobmon_core.store.remove_job import remove_job_files
from jobmon_core.system.files import discard_unfinished
from tests.support.files import open_files
from tests.support.login import Login
from tests.support.waiting import eventually


@pytest.fixture
def login(tmp_path: Path) -> Iterator[Login]:
    with Login(tmp_path) as login:
        login.launch("a,b")
        eventually(lambda: login.watches() and login.watches(job_id="b"))
        yield login


def wake(pid: int) -> None:
    """Make a monitor write heartbeats and poll all jobs now."""
    os.kill(pid, signal.SIGUSR1)


def test_a_monitor_whose_successor_finished_the_job_reports_nothing_more(login: Login) -> None:
    pid = login.pid()

    def has_left_it() -> bool:
        if "done" in login.log("a"):
            return True
        # repeatedly, since a monitor in the middle of a poll may save its old state
        login.ctx.store.save(replace(login.ctx.store.load("a"), concluded_s=200.0))
        login.ctx.owner_record("a").path.unlink(missing_ok=True)
        wake(pid)
        return False

    eventually(has_left_it)
    assert login.ctx.store.load("a").concluded_s == 200.0
    assert login.alive() == {"b": pid}


def test_a_monitor_whose_owner_record_was_removed_restores_it_and_continues(login: Login) -> None:
    pid = login.pid()
    login.ctx.owner_record("a").path.unlink()
    wake(pid)
    eventually(lambda: login.watches(2))
    assert login.alive() == {"a": pid, "b": pid}


def test_a_monitor_whose_home_was_removed_ends_and_does_not_create_it_again(login: Login) -> None:
    pid, home = login.pid(), login.ctx.home.root

    def has_ended() -> bool:
        # repeatedly, since a monitor in the middle of a poll may save its state
        shutil.rmtree(home, ignore_errors=True)
        with suppress(ProcessLookupError):
            wake(pid)
        return not Path(f"/proc/{pid}").exists()

    eventually(has_ended)
    assert not home.exists()


def test_a_monitor_that_was_replaced_stops_watching_that_job_and_keeps_the_others(login: Login) -> None:
    pid = login.pid()
    other = replace(Owner.this_process(), host="another-login-node")
    login.ctx.owner_record("a").write(other)
    wake(pid)
    eventually(lambda: "stopped watching this job" in login.log("a"))
    assert login.pid("b") == pid
    found = login.ctx.owner_record("a").read()
    assert found is not None
    assert found[0] == other


def test_a_monitor_leaves_a_forgotten_job_and_no_file_of_it_returns(login: Login) -> None:
    pid, home = login.pid(), login.ctx.home

    def has_left_it() -> bool:
        wake(pid)
        return not any("/a.lock" in name for name in open_files(pid))

    os.kill(pid, signal.SIGSTOP)  # for so long that another host took the job over
    discard_unfinished(home.state, {"a.json"})
    remove_job_files(home, "a")
    os.kill(pid, signal.SIGCONT)
    eventually(has_left_it)
    found = (*home.state.glob("a.*"), *home.monitors.glob("a.*"), *home.logs.glob("a.*"))
    assert [(path.name, path.read_text("utf-8")) for path in found] == []
    assert login.pid("b") == pid
    assert login.health("b") is Health.ALIVE
