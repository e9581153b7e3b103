from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.errors import AlreadyWatched, StorageFailed
from jobmon_core.store.job_lock import acquire_job, acquire_ownership
from jobmon_core.store.owner import Owner, OwnerRecord
from jobmon_core.system.lock import acquire, lock, try_lock
from tests.support.blocking_files import lay
from tests.support.processes import kill, python, said
from tests.support.waiting import eventually

OWNER = """
import os, sys
from pathlib import Path
from jobmon_core.store.job_lock import acquire_ownership
acquire_ownership(Path(sys.argv[1]))
os.execv("/bin/sh", ["sh", "-c", "echo held; read _"])
"""
TAKER = """
import sys
from pathlib import Path
from jobmon_core.system.lock import try_lock
with try_lock(Path(sys.argv[1])) as mine:
    print(mine, flush=True)
    sys.stdin.readline()
"""


def told(path: Path, before: str) -> str:
    """Return what another process is told that wants the lock, having done something else ``before``."""
    with python(
        f"{before}import sys; from pathlib import Path\n"
        "from jobmon_core.store.job_lock import acquire_ownership\n"
        "try:\n    acquire_ownership(Path(sys.argv[1])); print('free')\n"
        "except Exception as error: print(error)",
        str(path),
    ) as asker:
        return said(asker)


def is_free(path: Path) -> bool:
    return told(path, "") == "free"


def test_the_monitors_lock_survives_an_exec_and_is_freed_by_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "12.lock"
    with python(OWNER, str(path)) as owner:
        assert said(owner) == "held"  # by a shell that knows nothing of it
        with pytest.raises(AlreadyWatched, match="12 is watched already"):
            acquire_ownership(path)
        kill(owner.pid)
        owner.wait()
        assert is_free(path)


def test_a_process_cannot_take_the_lock_a_second_time(tmp_path: Path) -> None:
    acquire_ownership(tmp_path / "12.lock")
    with pytest.raises(AlreadyWatched):
        acquire_ownership(tmp_path / "12.lock")
    acquire_ownership(tmp_path / "13.lock")


def test_the_lock_file_is_private(tmp_path: Path) -> None:
    acquire_ownership(tmp_path / "12.lock")
    assert (tmp_path / "12.lock").stat().st_mode & 0o777 == 0o600


def test_a_lock_that_cannot_be_made_is_told_in_words(tmp_path: Path) -> None:
    path = tmp_path / "folder.lock"
    path.mkdir()
    with pytest.raises(StorageFailed, match=r"folder\.lock can't be locked"):
        acquire_ownership(path)
    with pytest.raises(StorageFailed, match=r"folder\.lock can't be used"), try_lock(path):
        pass


def test_only_one_has_its_turn(tmp_path: Path) -> None:
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


def test_a_turn_ends_with_the_process_that_had_it(tmp_path: Path) -> None:
    path = tmp_path / "queue.lock"
    with python(TAKER, str(path)) as first:
        assert said(first) == "True"
        kill(first.pid)
        first.wait()

    def free() -> bool:
        with try_lock(path) as mine:
            return mine

    eventually(free)


def test_a_turn_ends_when_what_was_done_in_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "queue.lock"
    with pytest.raises(OSError, match="from within"), try_lock(path):
        raise OSError(5, "from within")
    with try_lock(path) as mine:
        assert mine


def test_a_link_in_the_place_of_a_lock_is_removed_and_what_it_names_is_not_touched(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "x.lock"
    victim.write_text("precious")
    path.symlink_to(victim)
    with try_lock(path):
        assert not path.is_symlink()
    path.unlink()
    path.symlink_to(victim)
    with lock(path):
        assert not path.is_symlink()
    path.unlink()
    path.symlink_to(victim)
    acquire_ownership(path)
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "foreign file"])
def test_what_is_no_lock_of_ours_is_named_with_what_to_do(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.lock"
    lay(path, kind)
    before = path.lstat()
    for taking in (acquire_ownership, acquire):
        with pytest.raises(StorageFailed, match=r"x\.lock can't be \w+: it (is a|belongs to) .*: .*move"):
            taking(path)
    for asking in (try_lock, lock):
        with pytest.raises(StorageFailed, match=r"x\.lock can't be used: it"), asking(path):
            pass
    assert path.lstat() == before


def test_where_the_file_system_has_no_locks_who_is_named_decides(tmp_path: Path) -> None:
    path = tmp_path / "12.lock"
    lockless = "from tests.support.no_locks import refuse_locks; assert refuse_locks()\n"
    with python(lockless + OWNER, str(path)) as owner:
        assert said(owner) == "held"
        assert "12 is watched by monitor" in told(path, lockless)
        assert "12 is watched by monitor" in told(path, "")  # nor where somebody has locks
        kill(owner.pid)
        owner.wait()
    assert told(path, lockless) == "free"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["12.lock", "12.owner"]


def test_a_lock_that_is_seized_keeps_filelock_out_and_is_kept_out_by_it(tmp_path: Path) -> None:
    acquire_ownership(tmp_path / "12.lock")
    assert acquire(tmp_path / "12.lock") is None
    held = acquire(tmp_path / "13.lock")
    assert held is not None
    assert os.get_inheritable(held)
    with pytest.raises(AlreadyWatched):
        acquire_ownership(tmp_path / "13.lock")
    os.close(held)
    acquire_ownership(tmp_path / "13.lock")


def test_who_is_refused_the_job_lets_go_of_its_lock(tmp_path: Path) -> None:
    OwnerRecord(tmp_path / "12.owner").write(replace(Owner.this_process(), host="another-login-node"))
    for _ in range(2):
        with pytest.raises(AlreadyWatched, match=r"watched by monitor .* on another-login-node"):
            acquire_ownership(tmp_path / "12.lock")
        assert acquire_job(tmp_path / "12.lock") is None
    with try_lock(tmp_path / "12.lock") as mine:
        assert mine


@pytest.mark.parametrize("take", [acquire_ownership, acquire_job])
def test_who_cannot_name_itself_lets_go_of_the_lock(tmp_path: Path, take: Callable[[Path], object]) -> None:
    (tmp_path / "12.owner").mkdir()  # nothing can be written there
    with pytest.raises(StorageFailed, match=r"12\.owner"):
        take(tmp_path / "12.lock")
    with try_lock(tmp_path / "12.lock") as mine:
        assert mine


def test_who_takes_a_job_is_named_its_owner(tmp_path: Path) -> None:
    for job_id, take in (("12", acquire_ownership), ("13", acquire_job)):
        lock = take(tmp_path / f"{job_id}.lock")
        assert lock is not None
        assert os.get_inheritable(lock)
        found = OwnerRecord(tmp_path / f"{job_id}.owner").read()
        assert found is not None
        assert found[0] == Owner.this_process()
