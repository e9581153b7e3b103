"""A monitor that has spent its CPU budget hands over to a fresh process; no kill loses a job."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.lifecycle.health import Health
from jobmon_core.lifecycle.process_state import ProcessState
from jobmon_core.store.monitor_slots import slot_holders
from jobmon_core.system.lock import acquire
from tests.support.login import PATIENTLY, Login
from tests.support.processes import kill, python, said
from tests.support.waiting import eventually

# a monitor that hands over at once; its first argument after the home says what happens in its successor
OLD = """
import os, signal, sys
from pathlib import Path
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.system.clock import Clock
from jobmon_core.lifecycle.process_state import ProcessState
from jobmon_core.lifecycle.process_state import hand_over
from jobmon_core.store.home import Home
from jobmon_core.store.monitor_slots import acquire_slot, slot_holders
from jobmon_core.store.owner import acquire_jobs
_, root, scenario, cpu_budget_s = sys.argv
old = os.getpid()
class Scripted(ProcessState):
    def write_owner(self):
        if os.getpid() == old:
            return super().write_owner()
        if scenario == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if scenario == "finds a full disk":
            raise StorageFailed("no space left")
        if scenario == "fails":
            raise ZeroDivisionError("division by zero")
        if scenario in ("is orphaned", "is orphaned on a full disk"):
            os.dup2(2, 1)  # the test sees the end of the old monitor's output
            os.kill(old, signal.SIGKILL)
            while os.getppid() == old:
                pass
        if scenario == "is orphaned on a full disk":
            raise StorageFailed("no space left")
        super().write_owner()
        if scenario == "dies as the owner":
            os.kill(os.getpid(), signal.SIGKILL)
        if scenario == "gets a request":
            os.kill(old, signal.SIGUSR1)
signal.pthread_sigmask(signal.SIG_BLOCK, Clock.WAKING)
home = Home(Path(root))
locks = acquire_jobs(home, ("a", "b"))
state = Scripted(home, locks, acquire_slot(home.slots, 1), 1, float(cpu_budget_s))
state.write_slot()
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
print("ready", flush=True)
sys.stdin.readline()
try:
    if hand_over(state):
        print("handed over", flush=True)
    else:
        if scenario == "gets a request":
            assert signal.sigtimedwait(Clock.WAKING, 300)
        state.exec_monitor()
except StorageFailed as error:
    print("failed:", error, flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def login(tmp_path: Path) -> Iterator[Login]:
    with Login(tmp_path) as user:
        yield user


class Old:
    """The monitor that hands over."""

    def __init__(self, login: Login, pid: int) -> None:
        self.login, self.pid, self.result = login, pid, ""

    @property
    def owns_all(self) -> bool:
        return self.login.alive() == {"a": self.pid, "b": self.pid}


@contextmanager
def handing_over(login: Login, successor: str = "starts", cpu_budget_s: float = 480.0) -> Iterator[Old]:
    """Have a monitor of two jobs hand over; the later ones do so after ``cpu_budget_s``."""
    with python(OLD, str(login.ctx.home.root), successor, str(cpu_budget_s)) as process:
        assert process.stdin is not None
        assert said(process) == "ready"
        old = Old(login, process.pid)
        assert old.owns_all
        process.stdin.write("go\n")
        process.stdin.flush()
        old.result = said(process)
        yield old


def is_locked(login: Login) -> bool:
    for job_id in ("a", "b"):
        lock = acquire(login.ctx.home.lock_file(job_id))
        if lock is not None:
            os.close(lock)
            return False
    return True


def test_the_successor_owns_everything_before_the_old_monitor_exits(login: Login) -> None:
    with handing_over(login) as old:
        assert old.result == "handed over"
        (successor,) = set(login.alive().values())
        assert successor != old.pid
        assert is_locked(login)
        (holder,) = slot_holders(login.ctx.home.slots)
        assert (holder.owner.pid, holder.jobs) == (successor, 2)
    eventually(lambda: login.monitors() == {successor})
    assert is_locked(login)
    assert login.alive() == {"a": successor, "b": successor}
    assert login.launch("a,b")[0].startswith("AlreadyWatched ")


def test_a_request_that_arrives_during_a_handover_reaches_the_successor(login: Login) -> None:
    with handing_over(login, "gets a request"):
        eventually(lambda: login.watches() and login.watches(job_id="b"))


def test_a_request_that_arrives_between_handovers_is_heeded(login: Login) -> None:
    with handing_over(login, cpu_budget_s=0.0):
        login.ctx.cancel_request("a").create()
        _wake(login)
    eventually(lambda: login.health("a") is Health.DONE)
    first = login.pid("b")
    _wake(login)
    eventually(lambda: login.pid("b") != first)
    lock = acquire(login.ctx.home.monitors / "a.lock")
    assert lock is not None
    os.close(lock)


def test_a_job_that_is_offered_between_handovers_is_adopted(login: Login) -> None:
    login.configure(monitors={"at_most": 1})
    login.ctx.store.save(WatchedJob("c", 12, 100.0, backend="local", user="me"))
    with handing_over(login, cpu_budget_s=0.0):
        pass
    assert login.launch("c", PATIENTLY)[0] == "holds c"
    assert login.ctx.owner_record("c").path.exists()
    eventually(lambda: login.pid("c") == login.pid("b"))


def test_kills_at_any_moment_leave_the_jobs_with_one_monitor_or_free_for_the_next(login: Login) -> None:
    for nth in range(3):
        with handing_over(login, cpu_budget_s=0.0) as old:
            pass
        eventually(lambda: old.pid not in login.alive().values())
        # a process that is just starting is missing from the list
        while (alive := login.processes()) or login.alive():
            if alive:
                kill(alive[nth % len(alive)])
            eventually(lambda: not login.processes() or len(set(login.alive().values())) == 1)
        eventually(lambda: login.alive() == {})
        assert not is_locked(login)
    assert login.launch("a,b")[0] == "holds a b"


@pytest.mark.parametrize(
    ("successor", "why"),
    [
        ("dies", "the new process was killed"),
        ("dies as the owner", "the new process was killed"),
        ("finds a full disk", "StorageFailed: no space left"),
        ("fails", "ZeroDivisionError: division by zero"),
    ],
)
def test_if_the_successor_fails_the_old_monitor_owns_everything_again(
    login: Login, successor: str, why: str
) -> None:
    with handing_over(login, successor) as old:
        assert old.result == f"failed: {why}"
        assert old.owns_all
        assert is_locked(login)
    eventually(lambda: login.health() is Health.DEAD)
    assert login.launch("a,b")[0] == "holds a b"


@pytest.mark.parametrize("successor", ["is orphaned", "is orphaned on a full disk"])
def test_if_the_old_monitor_is_killed_the_successor_continues(login: Login, successor: str) -> None:
    with handing_over(login, successor) as old:
        eventually(lambda: set(login.alive()) == {"a", "b"} and old.pid not in login.alive().values())
        eventually(login.watches)
        assert is_locked(login)


def test_if_both_are_killed_the_jobs_are_free_for_the_next_monitor(login: Login) -> None:
    with handing_over(login) as old:
        kill(login.pid())
        kill(old.pid)
        eventually(lambda: login.health() is Health.DEAD)
    assert login.launch("a,b")[0] == "holds a b"
    assert login.health("b") is Health.ALIVE


@pytest.mark.parametrize(("limit", "cpu_budget_s"), [("unlimited", 480.0), ("3600", 480.0), ("100", 60.0)])
def test_the_cpu_budget_is_less_than_sites_and_limits_allow(
    login: Login, limit: str, cpu_budget_s: float
) -> None:
    assert login.launch("a,b", through=f'ulimit -S -t {limit}; "$@"')[0] == "holds a b"
    argv = Path(f"/proc/{login.pid()}/cmdline").read_bytes().decode().split("\0")
    process_state = ProcessState.from_argv(argv[argv.index(str(login.ctx.home.root)) : -1])
    assert process_state.cpu_budget_s == cpu_budget_s
    assert list(process_state.locks) == ["a", "b"]


def _wake(login: Login) -> None:
    for pid in login.monitors():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGUSR1)
