from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.domain.errors import CommandBusy, StorageFailed
from jobmon_core.system.lock import acquire, command_lock, lock, try_lock
from tests.support.blocking_files import lay
from tests.support.processes import kill, python, said
from tests.support.waiting import eventually

TAKER = """
import sys
from pathlib import Path
from jobmon_core.system.lock import try_lock
with try_lock(Path(sys.argv[1])) as mine:
    print(mine, flush=True)
    sys.stdin.readline()
"""
COMMAND = """
import sys
from pathlib import Path
from jobmon_core.system.lock import command_lock
with command_lock(Path(sys.argv[1]), "jobmon init", 0.0):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_lock_that_cannot_be_made_is_told_in_words(tmp_path: Path) -> None:
    path = tmp_path / "folder.lock"
    path.mkdir()
    with pytest.raises(StorageFailed, match=r"folder\.lock cannot be used"):
        acquire(path)
    with pytest.raises(StorageFailed, match=r"folder\.lock cannot be used"), try_lock(path):
        pass


def test_a_short_lock_excludes_others(tmp_path: Path) -> None:
    path = tmp_path / "queue.lock"
    with python(TAKER, str(path)) as first:
        assert said(first) == "True"
        with try_lock(path) as mine:
            assert not mine
        assert first.stdin is not None
        first.stdin.write("\n")
        first.stdin.flush()
        first.wait()
    with try_lock(path) as mine:
        assert mine


def test_a_short_lock_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "queue.lock"
    with python(TAKER, str(path)) as first:
        assert said(first) == "True"
        kill(first.pid)
        first.wait()

    def free() -> bool:
        with try_lock(path) as mine:
            return mine

    eventually(free)


def test_a_short_lock_ends_with_an_exception(tmp_path: Path) -> None:
    path = tmp_path / "queue.lock"
    with pytest.raises(OSError, match="from within"), try_lock(path):
        raise OSError(5, "from within")
    with try_lock(path) as mine:
        assert mine


@pytest.fixture
def other_command(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock of a command, until a line is written to it."""
    with python(COMMAND, str(tmp_path / "init.lock")) as process:
        assert said(process) == "held"
        yield process


def test_a_command_waits_for_another_one_to_end(tmp_path: Path, other_command: subprocess.Popen[str]) -> None:
    assert other_command.stdin is not None
    threading.Timer(0.2, os.write, (other_command.stdin.fileno(), b"\n")).start()
    with command_lock(tmp_path / "init.lock", "jobmon init", 60.0):
        assert other_command.wait(300) == 0


def test_a_command_gives_up_in_time_and_names_the_command_that_holds_the_lock(
    tmp_path: Path, other_command: subprocess.Popen[str]
) -> None:
    del other_command
    path = tmp_path / "init.lock"
    held = rf"another `jobmon init` has held {path} for over 0\.1 s: wait for it or end it"
    with pytest.raises(CommandBusy, match=held), command_lock(path, "jobmon init", 0.1):
        pass
    held = "another `jobmon recover`, `jobmon replay` or `jobmon init` has held"
    others = ("jobmon replay", "jobmon init")
    with pytest.raises(CommandBusy, match=held), command_lock(path, "jobmon recover", 0.1, *others):
        pass


def test_the_lock_of_a_killed_command_is_free(tmp_path: Path, other_command: subprocess.Popen[str]) -> None:
    kill(other_command.pid)
    other_command.wait()
    with command_lock(tmp_path / "init.lock", "jobmon init", 0.0):
        assert (tmp_path / "init.lock").stat().st_mode & 0o777 == 0o600


def test_without_locks_every_command_proceeds_and_nothing_is_left(tmp_path: Path) -> None:
    lockless = "from tests.support.no_locks import refuse_locks; assert refuse_locks()\n"
    with (
        python(lockless + COMMAND, str(tmp_path / "init.lock")) as first,
        python(lockless + COMMAND, str(tmp_path / "init.lock")) as second,
    ):
        assert [said(first), said(second)] == ["held", "held"]
    assert [path.name for path in tmp_path.iterdir()] == ["init.lock"]


@pytest.mark.parametrize("kind", ["folder", "link", "pipe", "device", "foreign file"])
def test_what_is_no_lock_of_ours_is_named_with_what_to_do(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.lock"
    lay(path, kind)
    before = path.lstat()
    with pytest.raises(StorageFailed, match=r"x\.lock cannot be \w+: it (is a|belongs to) .*(move|remove)"):
        acquire(path)
    for asking in (try_lock, lock):
        with pytest.raises(StorageFailed, match=r"x\.lock cannot be used: it"), asking(path):
            pass
    assert path.lstat() == before
