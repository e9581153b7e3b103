"""A monitor that took much CPU time hands over to a fresh process; whoever is killed, nothing is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from jobmon_core.domain.tracking.model import WatchedJob
from jobmon_core.lifecycle.health import Health
from jobmon_core.lifecycle.process_state import ProcessState
from jobmon_core.system.lock import acquire
from tests.support.login import PATIENTLY, Login
from tests.support.processes import kill, python, said
from tests.support.waiting import eventually

# a monitor that hands over at once; `successor` is what its copy does
OLD = """
import os, signal, sys
from pathlib import Path
from jobmon_core.system.clock import SystemClock
from jobmon_core.lifecycle.process_state import ProcessState
from jobmon_core.lifecycle.handover import hand_over
from jobmon_core.store.home import Home
from jobmon_core.store.monitor_slots import MonitorSlots
from jobmon_core.store.job_lock import acquire_job
def dies(state):
    os.kill(os.getpid(), signal.SIGKILL)
def dies_when_it_is_named(state):
    state.write_owner()
    dies(state)
def cannot_start(state):
    os.execv("/no/such/program", ["x"])
def starts_and_fails(state):
    os.execv(sys.executable, [sys.executable, "-c", "raise SystemExit('no module')"])
def is_orphaned(state):
    os.dup2(2, 1)  # the test sees the end of what the old one says
    os.kill(os.getppid(), signal.SIGKILL)
    state.exec_monitor()
def starts(state):
    state.exec_monitor()
signal.pthread_sigmask(signal.SIG_BLOCK, SystemClock.WAKING)
home = Home(Path(sys.argv[1]))
locks = {job_id: acquire_job(home.monitors / f"{job_id}.lock") for job_id in ("a", "b")}
state = ProcessState(home, locks, MonitorSlots(home.slots).acquire(1), 1, float(sys.argv[3]))
state.write_slot()
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
print("ready", flush=True)
sys.stdin.readline()
print("why:", hand_over(state, globals()[sys.argv[2]]), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def login(tmp_path: Path) -> Iterator[Login]:
    with Login(tmp_path) as user:
        yield user


class Old:
    """The monitor that hands over."""

    def __init__(self, login: Login, pid: int) -> None:
        self.login, self.pid, self.why = login, pid, ""

    @property
    def has_all(self) -> bool:
        return self.login.alive() == {"a": self.pid, "b": self.pid}


@contextmanager
def handing_over(login: Login, successor: str = "starts", cpu_s: float = 480.0) -> Iterator[Old]:
    """Have a monitor of two jobs that has just tried to hand over; the next ones do so after ``cpu_s``."""
    with python(OLD, str(login.ctx.home.root), successor, str(cpu_s)) as process:
        assert process.stdin is not None
        assert said(process) == "ready"
        old = Old(login, process.pid)
        assert old.has_all
        process.stdin.write("go\n")
        process.stdin.flush()
        old.why = said(process)
        yield old


def is_locked(login: Login) -> bool:
    for job_id in ("a", "b"):
        lock = acquire(login.ctx.home.monitors / f"{job_id}.lock")
        if lock is not None:
            os.close(lock)
            return False
    return True


def test_the_fresh_process_has_everything_before_the_old_one_leaves(login: Login) -> None:
    with handing_over(login, "starts") as old:
        assert old.why == "why:"
        (fresh,) = set(login.alive().values())
        assert fresh != old.pid
        assert is_locked(login)
    eventually(lambda: login.monitors() == {fresh})
    assert is_locked(login)
    assert login.alive() == {"a": fresh, "b": fresh}
    assert login.launch("a,b")[0].startswith("AlreadyWatched ")


def test_a_request_that_comes_amid_handovers_is_heeded(login: Login) -> None:
    with handing_over(login, cpu_s=0.0):
        login.ctx.request_cancel("a")
        for pid in login.monitors():
            _wake(pid)
    eventually(lambda: login.health("a") is Health.DONE, 60)
    first = login.pid("b")
    eventually(lambda: login.pid("b") != first, 60)
    lock = acquire(login.ctx.home.monitors / "a.lock")
    assert lock is not None
    os.close(lock)


def test_a_job_that_is_offered_amid_handovers_is_taken_up(login: Login) -> None:
    login.configure(monitors={"at_most": 1})
    login.ctx.store.save(WatchedJob("c", 12, 100.0, backend="local", user="me"))
    with handing_over(login, cpu_s=0.0):
        pass
    assert login.launch("c", PATIENTLY)[0] == "holds c"
    assert login.ctx.owner_record("c").path.exists()
    eventually(lambda: login.pid("c") == login.pid("b"), 60)


def test_kills_at_any_moment_leave_the_jobs_with_one_monitor_or_free_for_the_next(login: Login) -> None:
    for nth in range(3):
        with handing_over(login, cpu_s=0.0) as old:
            pass
        eventually(lambda: old.pid not in login.alive().values())
        while alive := login.processes():
            kill(alive[nth % len(alive)])
            eventually(lambda: not login.processes() or len(set(login.alive().values())) == 1, 60)
        assert login.alive() == {}
        assert not is_locked(login)
    assert login.launch("a,b")[0] == "holds a b"


@pytest.mark.parametrize(
    ("successor", "why"),
    [
        ("dies", "the new process ended without a word"),
        ("dies_when_it_is_named", "the new process ended without a word"),
        ("starts_and_fails", "the new process ended without a word"),
        ("cannot_start", "FileNotFoundError: [Errno 2] No such file or directory"),
    ],
)
def test_where_the_fresh_process_fails_the_old_one_has_everything_back(
    login: Login, successor: str, why: str
) -> None:
    with handing_over(login, successor) as old:
        assert old.why.startswith(f"why: {why}")
        assert old.has_all
        assert is_locked(login)
    eventually(lambda: login.health() is Health.DEAD)
    assert login.launch("a,b")[0] == "holds a b"


def test_where_the_old_one_is_killed_the_fresh_process_goes_on(login: Login) -> None:
    with handing_over(login, "is_orphaned") as old:
        eventually(lambda: set(login.alive()) == {"a", "b"} and old.pid not in login.alive().values())
        eventually(login.watches)
        assert is_locked(login)


def test_where_both_are_killed_the_jobs_are_free_for_the_next(login: Login) -> None:
    with handing_over(login, "starts") as old:
        kill(login.pid())
        kill(old.pid)
        eventually(lambda: login.health() is Health.DEAD)
    assert login.launch("a,b")[0] == "holds a b"
    assert login.health("b") is Health.ALIVE


@pytest.mark.parametrize(("limit", "allowance_s"), [("unlimited", 480.0), ("3600", 480.0), ("100", 60.0)])
def test_a_monitor_may_take_less_cpu_time_than_sites_and_limits_allow(
    login: Login, limit: str, allowance_s: float
) -> None:
    assert login.launch("a,b", through=f'ulimit -S -t {limit}; "$@"')[0] == "holds a b"
    words = Path(f"/proc/{login.pid()}/cmdline").read_bytes().decode().split("\0")
    process_state = ProcessState.from_argv(words[words.index(str(login.ctx.home.root)) : -1])
    assert process_state.cpu_budget_s == allowance_s
    assert list(process_state.locks) == ["a", "b"]


def _wake(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGUSR1)
