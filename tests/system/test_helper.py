from __future__ import annotations

import fcntl
import os
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import psutil
import pytest

from jobmon_core.system.helper import Helper, HelperFailed, Step
from tests.support.processes import in_a_copy, is_running, kill, python, said
from tests.support.waiting import eventually

ORPHANING = """
import os, sys, time
from dataclasses import dataclass
from pathlib import Path
from jobmon_core.system.helper import Helper

@dataclass(frozen=True)
class Result:
    text: str

def work():
    print(os.getpid(), flush=True)
    while not Path(sys.argv[1]).exists():
        time.sleep(0.01)
    return Result("done")

try:
    Helper().run(Result, work, 300.0)
finally:
    Path(sys.argv[2]).touch()
"""


@dataclass(frozen=True)
class Result:
    text: str


def run(work: Callable[[], Result], timeout_s: float = 300.0) -> str:
    return Helper().run(Result, work, timeout_s).text


def fail() -> NoReturn:
    raise RuntimeError("no such pattern")


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_helper_returns_its_result() -> None:
    assert run(lambda: Result(str(os.getppid()))) == str(os.getpid())


def test_a_result_may_be_bigger_than_a_pipe() -> None:
    assert run(lambda: Result("é\udcff" * 1_000_000)) == "é\udcff" * 1_000_000


def test_an_exception_in_a_helper_is_described() -> None:
    with pytest.raises(HelperFailed, match="RuntimeError: no such pattern"):
        run(fail)


@pytest.mark.parametrize("leave", [KeyboardInterrupt, SystemExit])
def test_a_helper_never_continues_as_its_parent(leave: type[BaseException]) -> None:
    def work() -> Result:
        raise leave

    with pytest.raises(HelperFailed, match=leave.__name__):
        run(work)


def test_a_helper_whose_parent_was_killed_does_not_continue_in_its_place(tmp_path: Path) -> None:
    go, went_on = tmp_path / "go", tmp_path / "went-on"
    with python(ORPHANING, str(go), str(went_on)) as parent:
        child = int(said(parent))
        kill(parent.pid)
        parent.wait()
        go.touch()
        eventually(lambda: not is_running(child))
    assert not went_on.exists()


def test_a_helper_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    def work() -> Result:
        (tmp_path / "pid").write_text(str(os.getpid()), encoding="ascii")
        time.sleep(600)
        return Result("late")

    with pytest.raises(HelperFailed, match="no result within 10 s"):
        run(work, timeout_s=10.0)
    pid = (tmp_path / "pid").read_text(encoding="ascii")
    assert not Path(f"/proc/{pid}").exists()


def test_a_killed_helper_has_no_result() -> None:
    def work() -> Result:
        kill(os.getpid())
        return Result("never")

    with pytest.raises(HelperFailed, match="ended without a result"):
        run(work)


def killed_first(tmp_path: Path, text: str) -> str:
    with (tmp_path / "tries").open("a") as tries:
        tries.write(".")
    if (tmp_path / "tries").stat().st_size == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return text + "b"


def test_a_step_is_repeated_in_another_helper_if_the_first_was_killed(tmp_path: Path) -> None:
    steps = [Step(lambda text: text + "a", 300.0), Step(lambda text: killed_first(tmp_path, text), 300.0)]
    assert Helper().run_steps(str, "", steps, pytest.fail) == "ab"


@pytest.mark.parametrize("broken", [fail, lambda: kill(os.getpid()), lambda: time.sleep(600)])
def test_a_step_that_fails_costs_no_other_step_its_result(broken: Callable[[], object]) -> None:
    logged: list[str] = []
    steps = [
        Step(lambda text: text + "a", 300.0),
        Step(lambda text: f"{broken()}{text}b", 10.0, "there is no b"),
        Step(lambda text: text + "c", 300.0),
    ]
    assert Helper().run_steps(str, "", steps, logged.append) == "ac"
    (line,) = logged
    assert line.startswith("there is no b: ")


def test_a_helper_closes_the_locks_of_the_monitor(tmp_path: Path) -> None:
    lock = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)

    def work() -> Result:
        try:
            os.fstat(lock)
        except OSError:
            return Result("closed")
        return Result("open")

    assert Helper((lock,)).run(Result, work, 300.0).text == "closed"
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the monitor still holds it
    os.close(lock)


def test_a_helper_unblocks_signals() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))
    try:
        assert run(lambda: Result(str(signal.pthread_sigmask(signal.SIG_BLOCK, ())))) == "set()"
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_helpers_leave_no_descriptor_and_no_zombie() -> None:
    before, children = open_files(), psutil.Process().children()  # earlier tests may have left some
    for _ in range(5):
        run(lambda: Result("x"))
        with pytest.raises(HelperFailed):
            run(fail)
    assert open_files() == before
    assert set(psutil.Process().children()) <= set(children)


def test_a_helper_runs_with_descriptors_above_the_limit_of_select() -> None:
    def work() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (2048, 2048))
        for _ in range(1100):
            os.dup(0)
        assert run(lambda: Result("x")) == "x"

    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 2048:
        pytest.skip("so many files are not permitted here")
    in_a_copy(work)


@pytest.mark.parametrize("limit", [resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE])
def test_a_helper_that_cannot_be_started_is_a_failure(limit: int) -> None:
    def work() -> None:
        before = open_files()
        soft, hard = resource.getrlimit(limit)
        resource.setrlimit(limit, (0, hard))
        with pytest.raises(HelperFailed, match="cannot start a worker process"):
            run(lambda: Result("x"))
        resource.setrlimit(limit, (soft, hard))
        assert open_files() == before

    in_a_copy(work, as_nobody=True)


def test_a_helper_returns_its_result_with_sigchld_ignored() -> None:
    def work() -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        assert run(lambda: Result("x")) == "x"

    in_a_copy(work)


def test_the_child_goes_on_with_the_steps_that_nobody_awaits_yet(tmp_path: Path) -> None:
    def touch(text: str) -> str:
        (tmp_path / "done").touch()
        return text + "b"

    steps = [Step(lambda text: text + "a", 300.0), Step(touch, 300.0)]
    value, rest = Helper().begin_steps(str, "", steps, pytest.fail, 1)
    assert value == "a"
    eventually((tmp_path / "done").exists)
    assert [*rest] == ["ab"]


def test_the_steps_that_nobody_awaits_follow_even_if_the_last_awaited_one_failed() -> None:
    logged: list[str] = []
    steps = [
        Step(lambda text: f"{text}{fail()}", 300.0, "there is no a"),
        Step(lambda text: text + "b", 300.0),
    ]
    value, rest = Helper().begin_steps(str, "", steps, logged.append, 1)
    assert (value, [*rest], len(logged)) == ("", ["b"], 1)


def test_a_child_whose_results_are_given_up_is_killed(tmp_path: Path) -> None:
    def work(_: str) -> str:
        (tmp_path / "pid").write_text(str(os.getpid()), encoding="ascii")
        time.sleep(600)
        return "late"

    _, rest = Helper().begin_steps(str, "", [Step(str, 300.0), Step(work, 300.0)], pytest.fail, 1)
    eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
    rest.close()
    pid = (tmp_path / "pid").read_text(encoding="ascii")
    assert not Path(f"/proc/{pid}").exists()
