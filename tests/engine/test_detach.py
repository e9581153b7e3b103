from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobmon_core.domain.job import WatchedJob
from jobmon_core.engine.census import Health, snapshot
from jobmon_core.engine.wiring import Workshop
from jobmon_core.store.home import Home
from tests.support.processes import kill, stat_of
from tests.support.waiting import eventually

LAUNCH = """
import os, signal, sys
from pathlib import Path
from jobmon_core.domain.errors import JobmonError
from jobmon_core.engine.launcher import Launcher
from jobmon_core.store.home import Home
os.umask(0o027)
if "ignoring-children" in sys.argv:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
try:
    held = Launcher(Home(Path(sys.argv[1]))).start(sys.argv[2].split(","))
    print("holds", *held)
except JobmonError as error:
    print(type(error).__name__, error)
print(oct(os.umask(0)), os.getcwd(), os.getsid(0))
"""


class Login:
    """A user's terminal, from which monitors are started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shop = Workshop(Home(folder / "home"), {})
        for job_id in ("a", "b"):
            # no such job: its monitor looks for a witness for longer than any test lasts
            self.shop.store.save(WatchedJob(job_id, 12, 100.0, backend="local", user="me"))

    def launch(self, jobs: str = "a", through: str = '"$@"') -> list[str]:
        """Start a monitor from a process of its own; return the lines that this printed."""
        command = ["sh", "-c", through, "sh", sys.executable, "-c", LAUNCH, str(self.shop.home.root), jobs]
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False
        )
        assert not done.stderr, done.stderr
        return done.stdout.splitlines()

    def pid(self, job_id: str = "a") -> int:
        found = self.shop.owner_record(job_id).read()
        assert found is not None
        return found[0].pid

    def health(self, job_id: str = "a") -> Health:
        return snapshot(self.shop, self.shop.store.load(job_id)).health

    def watches(self, times: int = 1) -> bool:
        return self.shop.monitor_log("a").read().count("watches") == times


@pytest.fixture
def login(tmp_path: Path) -> Iterator[Login]:
    user = Login(tmp_path)
    yield user
    for job_id in ("a", "b"):
        if user.health(job_id) is Health.ALIVE:
            kill(user.pid(job_id))


def gone(login: Login) -> Callable[[], bool]:
    return lambda: login.health() is Health.DEAD


def test_a_monitor_outlives_the_command_and_has_no_terminal(login: Login) -> None:
    holds, surroundings = login.launch()
    assert holds == "holds a"
    pid = login.pid()
    _state, _parent, _group, session, terminal = stat_of(pid)[:5]
    assert session not in (str(pid), surroundings.split()[2], str(os.getsid(0)))
    assert terminal == "0"
    assert Path(f"/proc/{pid}/cwd").readlink() == login.shop.home.state
    assert Path(f"/proc/{pid}/fd/0").readlink() == Path(os.devnull)
    assert Path(f"/proc/{pid}/fd/1").readlink() == login.shop.monitor_log("a").path


def test_a_logout_does_not_end_a_monitor(login: Login) -> None:
    login.launch()
    eventually(login.watches)
    os.kill(login.pid(), signal.SIGHUP)
    os.kill(login.pid(), signal.SIGTERM)  # heeded only by a monitor that the other left alive
    eventually(lambda: "asked to leave by SIGTERM" in login.shop.monitor_log("a").read())


def test_the_command_goes_on_as_it_was(login: Login) -> None:
    _, surroundings = login.launch()
    assert surroundings.split()[:2] == ["0o27", str(login.folder)]


def test_what_a_monitor_writes_is_private(login: Login) -> None:
    login.launch()
    eventually(login.watches)
    made = [path for path in login.shop.home.root.rglob("*") if path.is_file()]
    assert made
    assert not [path for path in made if path.stat().st_mode & 0o077]


def test_a_second_monitor_is_refused(login: Login) -> None:
    login.launch()
    pid = login.pid()
    assert login.launch()[0].startswith("AlreadyWatched ")
    assert login.pid() == pid
    assert login.health() is Health.ALIVE


def test_a_monitor_takes_only_the_jobs_that_nobody_has(login: Login) -> None:
    login.launch("a")
    assert login.launch("a,b")[0] == "holds b"
    assert login.pid("a") != login.pid("b")


def test_one_monitor_may_have_many_jobs(login: Login) -> None:
    assert login.launch("a,b")[0] == "holds a b"
    assert login.pid("a") == login.pid("b")


def test_after_a_kill_the_next_monitor_comes_up(login: Login) -> None:
    login.launch()
    kill(login.pid())
    eventually(gone(login))
    assert login.launch()[0] == "holds a"
    assert login.health() is Health.ALIVE


def test_a_monitor_that_is_asked_to_leave_leaves_its_job_to_the_next(login: Login) -> None:
    login.launch()
    os.kill(login.pid(), signal.SIGTERM)
    eventually(gone(login))
    assert "asked to leave by SIGTERM" in login.shop.monitor_log("a").read()
    assert login.launch()[0] == "holds a"


def test_a_request_that_comes_at_once_does_not_end_a_monitor(login: Login) -> None:
    login.launch()
    os.kill(login.pid(), signal.SIGUSR1)  # Python is still starting
    eventually(login.watches)
    assert login.health() is Health.ALIVE


@pytest.mark.parametrize("closed", ["<&-", "<&- 2>&-"])
def test_a_monitor_starts_where_the_callers_files_are_closed(login: Login, closed: str) -> None:
    assert login.launch(through=f'"$@" {closed}')[0] == "holds a"
    eventually(login.watches)
    assert Path(f"/proc/{login.pid()}/fd/0").readlink() == Path(os.devnull)


def test_a_monitor_starts_where_dead_children_are_ignored(login: Login) -> None:
    assert login.launch(through='"$@" ignoring-children')[0] == "holds a"


def test_a_home_that_cannot_be_used_is_told_in_words(login: Login) -> None:
    (login.shop.home.root / "logs").write_text("", encoding="ascii")
    (said, _) = login.launch()
    assert said.startswith("StorageFailed the monitor did not start: ")
    assert "logs can't be used" in said
    (login.shop.home.root / "logs").unlink()
