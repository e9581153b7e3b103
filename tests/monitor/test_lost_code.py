"""A monitor whose own code is moved under it, as an update of jobmon may do."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

import pytest

import jobmon_core
from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.lifecycle.adopt import JobOffers
from jobmon_core.system.lock import acquire
from tests.support.fake_discord import FakeDiscord
from tests.support.login import Login
from tests.support.processes import python
from tests.support.waiting import eventually

MARK = "here"
# a monitor that runs the copied code, with a clock that the test can put forward
MONITOR = f"""
import os, signal, sys, time
from pathlib import Path
from jobmon_core.monitor import main as monitor
from jobmon_core.system.clock import Clock
from jobmon_core.lifecycle.process_state import ProcessState
from jobmon_core.context import Context
from jobmon_core.store.home import Home
from jobmon_core.store.owner import acquire_job
class Later(Clock):
    def now(self):
        return time.time() + (301 if os.path.exists(sys.argv[2]) else 0)
signal.pthread_sigmask(signal.SIG_BLOCK, Clock.WAKING)
home = Home(Path(sys.argv[1]))
locks = {{"a": acquire_job(home.monitors / "a.lock")}}
state = ProcessState(home, locks, max_monitors=1, env_fingerprint={MARK!r})
ctx = Context(home, os.environ, state, Later())
monitor.run(ctx, state, lambda job_id, event: ctx.monitor_log(job_id).write(event))
"""
FAILED_JOB = WatchedJob(
    "b",
    13,
    100.0,
    backend="local",
    user="me",
    concluded_s=200.0,
    outbox=(OutboxEntry(Message("m1", Route.ERROR, Tone.FAILURE, "it failed")),),
)


@dataclass(frozen=True, slots=True)
class Installed:
    """A copy of jobmon, and a monitor that runs it."""

    login: Login
    process: Popen[str]

    def move(self) -> None:
        """Move the code: a new process finds it, the running monitor does not."""
        (self.login.folder / "lib").rename(self.login.folder / "new")

    def wake(self) -> None:
        os.kill(self.process.pid, signal.SIGUSR1)

    def adopt_failed_job(self) -> None:
        """Let the monitor adopt a job with a pending message: to send it, it must load further code."""
        self.login.ctx.store.save(FAILED_JOB)
        JobOffers(self.login.ctx.home.offers, MARK).create("b")
        self.wake()

    def replace(self) -> Path:
        """Replace a file that the running monitor has not loaded yet by one that does not fit the others."""
        replaced = self.login.folder / "lib" / "jobmon_core" / "monitor" / "outbox.py"
        replaced.rename(self.login.folder / "outbox.py")
        replaced.write_text("from jobmon_core.monitor import loop\nloop.MonitorLoop.not_known\n")
        return replaced

    def failed(self, times: int, error: str = "ModuleNotFoundError") -> bool:
        """Whether the job was polled in vain so often, or once more if the signal came during a poll."""
        return self.login.log("b").count(error) >= times


@pytest.fixture
def discord() -> Iterator[FakeDiscord]:
    with FakeDiscord() as server:
        yield server


@pytest.fixture
def installed(tmp_path: Path, discord: FakeDiscord, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    with Login(tmp_path, jobs=("a",)) as login:
        login.configure(discord={"error_webhook": discord.error_url})
        code = Path(jobmon_core.__file__).parent
        shutil.copytree(code, tmp_path / "lib" / code.name, ignore=shutil.ignore_patterns("__pycache__"))
        monkeypatch.setenv("PYTHONPATH", f"{tmp_path}/lib:{tmp_path}/new")
        monkeypatch.setenv("PYTHONSAFEPATH", "1")  # the working folder contains jobmon, too
        with python(MONITOR, str(login.ctx.home.root), str(tmp_path / "later")) as process:
            eventually(login.watches)
            yield Installed(login, process)


def test_a_monitor_whose_code_was_moved_restarts_from_the_new_place_and_sends_its_messages(
    installed: Installed, discord: FakeDiscord
) -> None:
    login = installed.login
    installed.move()
    installed.adopt_failed_job()
    eventually(lambda: installed.failed(1))
    (login.folder / "later").touch()
    installed.wake()
    (payload,) = discord.wait_for(1, route=Route.ERROR)
    assert "it failed" in str(payload)
    assert "restarts, because jobmon's code seems to have been moved or replaced" in login.log()
    eventually(lambda: login.watches(2))
    assert login.monitors() == {login.pid()} == {installed.process.pid}
    assert acquire(login.ctx.home.monitors / "a.lock") is None


def test_a_monitor_that_does_not_fit_replaced_code_restarts_and_sends_its_messages(
    installed: Installed, discord: FakeDiscord
) -> None:
    login = installed.login
    replaced = installed.replace()
    installed.adopt_failed_job()
    eventually(lambda: installed.failed(1, "AttributeError"))
    (login.folder / "outbox.py").rename(replaced)
    (login.folder / "later").touch()
    installed.wake()
    discord.wait_for(1, route=Route.ERROR)
    eventually(lambda: "restarts, because jobmon's code seems to have been moved or replaced" in login.log())
    eventually(lambda: login.watches(2))


def test_a_monitor_does_not_restart_for_missing_code_right_after_its_start(installed: Installed) -> None:
    installed.move()
    installed.adopt_failed_job()
    eventually(lambda: installed.failed(1))
    installed.wake()
    eventually(lambda: installed.failed(2))
    assert "restarts" not in installed.login.log()
    assert installed.login.watches()
