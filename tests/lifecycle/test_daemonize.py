from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from jobmon_core.lifecycle.health import Health
from tests.support.login import Login
from tests.support.processes import kill, python, stat_of
from tests.support.waiting import eventually

# a copy of a command that was killed before the copy reported its status
ORPHAN = """
import os, sys
from jobmon_core.lifecycle.daemonize import daemonize
reading, status_pipe = os.pipe()
os.close(reading)
daemonize(sys.argv[1], int(sys.argv[2]), sys.argv[3:], status_pipe)
"""


@pytest.fixture
def login(tmp_path: Path) -> Iterator[Login]:
    with Login(tmp_path) as user:
        yield user


def is_dead(login: Login) -> Callable[[], bool]:
    return lambda: login.health() is Health.DEAD


def test_a_monitor_outlives_the_command_and_has_no_terminal(login: Login) -> None:
    started, caller = login.launch()
    assert started == "holds a"
    pid = login.pid()
    _state, _parent, _group, session, terminal = stat_of(pid)[:5]
    assert session not in (str(pid), caller.split()[2], str(os.getsid(0)))
    assert terminal == "0"
    assert Path(f"/proc/{pid}/cwd").readlink() == login.ctx.home.state
    assert Path(f"/proc/{pid}/fd/0").readlink() == Path(os.devnull)
    assert Path(f"/proc/{pid}/fd/1").readlink() == login.ctx.monitor_log("a").path


def test_a_logout_does_not_end_a_monitor(login: Login) -> None:
    login.launch()
    eventually(login.watches)
    os.kill(login.pid(), signal.SIGHUP)
    os.kill(login.pid(), signal.SIGTERM)  # handled only by a monitor that survived SIGHUP
    eventually(lambda: "terminated (SIGTERM)" in login.ctx.monitor_log("a").read())


def test_the_command_keeps_its_umask_and_working_folder(login: Login) -> None:
    _, caller = login.launch()
    assert caller.split()[:2] == ["0o27", str(login.folder)]


def test_what_a_monitor_writes_is_private(login: Login) -> None:
    login.launch()
    eventually(login.watches)
    modes = []
    for path in login.ctx.home.root.rglob("*"):
        with suppress(FileNotFoundError):  # the monitor is replacing this file
            modes.append(path.lstat().st_mode)
    assert any(map(stat.S_ISREG, modes))
    assert not [mode for mode in modes if stat.S_ISREG(mode) and mode & 0o077]


def test_a_second_monitor_is_refused(login: Login) -> None:
    login.launch()
    pid = login.pid()
    assert login.launch()[0].startswith("AlreadyWatched ")
    assert login.pid() == pid
    assert login.health() is Health.ALIVE


def test_a_monitor_takes_only_jobs_without_an_owner(login: Login) -> None:
    login.launch("a")
    assert login.launch("a,b")[0] == "holds b"
    assert login.pid("a") != login.pid("b")


def test_one_monitor_may_have_many_jobs(login: Login) -> None:
    assert login.launch("a,b")[0] == "holds a b"
    assert login.pid("a") == login.pid("b")


def test_after_a_kill_the_next_monitor_starts(login: Login) -> None:
    login.launch()
    kill(login.pid())
    eventually(is_dead(login))
    assert login.launch()[0] == "holds a"
    assert login.health() is Health.ALIVE


def test_a_terminated_monitor_leaves_its_job_to_the_next(login: Login) -> None:
    login.launch()
    os.kill(login.pid(), signal.SIGTERM)
    eventually(is_dead(login))
    assert "terminated (SIGTERM)" in login.ctx.monitor_log("a").read()
    assert login.launch()[0] == "holds a"


def test_a_signal_right_after_the_start_does_not_end_a_monitor(login: Login) -> None:
    login.launch()
    os.kill(login.pid(), signal.SIGUSR1)  # Python is still starting
    eventually(login.watches)
    assert login.health() is Health.ALIVE


@pytest.mark.parametrize("closed", ["<&-", "<&- 2>&-"])
def test_a_monitor_starts_with_closed_standard_streams(login: Login, closed: str) -> None:
    assert login.launch(through=f'"$@" {closed}')[0] == "holds a"
    eventually(login.watches)
    assert Path(f"/proc/{login.pid()}/fd/0").readlink() == Path(os.devnull)


def test_a_monitor_starts_if_sigchld_is_ignored(login: Login) -> None:
    assert login.launch(through='"$@" ignoring-children')[0] == "holds a"


def test_an_unusable_home_is_reported_with_its_path(login: Login) -> None:
    (login.ctx.home.root / "logs").write_text("", encoding="ascii")
    (error, _) = login.launch()
    assert error.startswith("StorageFailed the monitor did not start: ")
    assert "logs cannot be used" in error
    (login.ctx.home.root / "logs").unlink()


def test_a_monitor_starts_even_if_its_command_was_killed(login: Login) -> None:
    with python(ORPHAN, str(login.ctx.home.root), "16", "a", "b") as copy:
        copy.wait()
    eventually(lambda: login.watches() and login.watches(job_id="b"))
    assert login.alive() == {"a": login.pid(), "b": login.pid()}


def test_if_the_command_was_killed_a_job_gets_its_own_monitor_in_spite_of_the_limit(
    login: Login,
) -> None:
    login.launch("a")
    with python(ORPHAN, str(login.ctx.home.root), "1", "b") as copy:
        copy.wait()
    eventually(lambda: login.watches(job_id="b"))
    assert login.pid("b") != login.pid("a")
