"""The lock of a job, its owner, and the request to stop watching it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.errors import AlreadyWatched, StorageFailed
from jobmon_core.store.home import Home
from jobmon_core.store.owner import Owner, OwnerRecord, RequestFile, acquire_job, acquire_jobs
from jobmon_core.system.lock import acquire, try_lock
from tests.support.processes import kill, python, said

OWNER = """
import os, sys
from pathlib import Path
from jobmon_core.store.owner import acquire_job
acquire_job(Path(sys.argv[1]))
os.execv("/bin/sh", ["sh", "-c", "echo held; read _"])
"""


def outcome(path: Path, preamble: str) -> str:
    """Return "free" if another process, after running ``preamble``, can lock a job, else the error."""
    with python(
        f"{preamble}import sys; from pathlib import Path\n"
        "from jobmon_core.store.owner import acquire_job\n"
        "try:\n    acquire_job(Path(sys.argv[1])); print('free')\n"
        "except Exception as error: print(error)",
        str(path),
    ) as asker:
        return said(asker)


def is_free(path: Path) -> bool:
    return outcome(path, "") == "free"


def test_the_lock_of_a_job_survives_an_exec_and_is_released_by_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "12.lock"
    with python(OWNER, str(path)) as owner:
        assert said(owner) == "held"  # by a shell, after the exec
        with pytest.raises(AlreadyWatched, match="12 is already watched"):
            acquire_job(path)
        kill(owner.pid)
        owner.wait()
        assert is_free(path)


def test_a_process_cannot_lock_a_job_twice(tmp_path: Path) -> None:
    acquire_job(tmp_path / "12.lock")
    with pytest.raises(AlreadyWatched):
        acquire_job(tmp_path / "12.lock")
    acquire_job(tmp_path / "13.lock")


def test_the_lock_file_is_private(tmp_path: Path) -> None:
    acquire_job(tmp_path / "12.lock")
    assert (tmp_path / "12.lock").stat().st_mode & 0o777 == 0o600


def test_on_a_file_system_without_locks_the_owner_record_decides(tmp_path: Path) -> None:
    path = tmp_path / "12.lock"
    lockless = "from tests.support.no_locks import refuse_locks; assert refuse_locks()\n"
    with python(lockless + OWNER, str(path)) as owner:
        assert said(owner) == "held"
        assert "12 is watched by monitor" in outcome(path, lockless)
        assert "12 is watched by monitor" in outcome(path, "")  # also for a process that has locks
        kill(owner.pid)
        owner.wait()
    assert outcome(path, lockless) == "free"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["12.lock", "12.owner"]


def test_a_job_lock_excludes_any_other_lock_on_the_file(tmp_path: Path) -> None:
    acquire_job(tmp_path / "12.lock")
    assert acquire(tmp_path / "12.lock") is None
    held = acquire(tmp_path / "13.lock")
    assert held is not None
    assert os.get_inheritable(held)
    with pytest.raises(AlreadyWatched):
        acquire_job(tmp_path / "13.lock")
    os.close(held)
    acquire_job(tmp_path / "13.lock")


def test_a_process_that_is_refused_the_job_releases_its_lock(tmp_path: Path) -> None:
    OwnerRecord(tmp_path / "12.owner").write(replace(Owner.this_process(), host="another-login-node"))
    for _ in range(2):
        with pytest.raises(AlreadyWatched, match=r"watched by monitor .* on another-login-node"):
            acquire_job(tmp_path / "12.lock")
    with try_lock(tmp_path / "12.lock") as is_acquired:
        assert is_acquired


def test_a_process_that_cannot_write_the_owner_record_releases_the_lock(tmp_path: Path) -> None:
    (tmp_path / "12.owner").mkdir()  # nothing can be written there
    with pytest.raises(StorageFailed, match=r"12\.owner"):
        acquire_job(tmp_path / "12.lock")
    with try_lock(tmp_path / "12.lock") as is_acquired:
        assert is_acquired


def test_the_process_that_locks_a_job_becomes_its_owner(tmp_path: Path) -> None:
    assert os.get_inheritable(acquire_job(tmp_path / "12.lock"))
    found = OwnerRecord(tmp_path / "12.owner").read()
    assert found is not None
    assert found[0] == Owner.this_process()


def test_of_several_jobs_those_without_an_owner_are_locked(tmp_path: Path) -> None:
    home = Home(tmp_path)
    acquire_job(home.lock_file("12"))
    assert list(acquire_jobs(home, ("11", "12", "13"))) == ["11", "13"]


def test_a_cancel_request_is_pending_until_it_is_cleared(tmp_path: Path) -> None:
    request = RequestFile(tmp_path / "12.drop")
    assert not request.is_pending()
    request.create()
    assert request.is_pending()
    for _ in range(2):
        request.clear()
        assert not request.is_pending()


def test_a_folder_in_place_of_a_cancel_request_is_not_a_request(tmp_path: Path) -> None:
    request = RequestFile(tmp_path / "12.drop")
    request.path.mkdir()
    assert not request.is_pending()
    request.clear()
    assert request.path.exists()


def test_a_new_owner_discards_the_state_that_a_frozen_one_is_about_to_save(tmp_path: Path) -> None:
    home = Home(tmp_path)
    frozen = replace(Owner.this_process(), host="another-login-node")
    OwnerRecord(home.owner_file("12")).write(frozen)
    os.utime(home.owner_file("12"), (0, 0))
    names = (".12.json.0123456789abcdef.tmp", ".123.json.0123456789abcdef.tmp")
    for name in names:
        (home.state / name).touch()
    os.close(acquire_job(home.lock_file("12")))
    assert [name for name in names if (home.state / name).exists()] == [names[1]]
