from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.system.lock import acquire, lock, try_lock
from tests.support.intruders import lay
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


def test_a_lock_that_cannot_be_made_is_told_in_words(tmp_path: Path) -> None:
    path = tmp_path / "folder.lock"
    path.mkdir()
    with pytest.raises(StorageFailed, match=r"folder\.lock can't be used"):
        acquire(path)
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
    acquire(path)
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "foreign file"])
def test_what_is_no_lock_of_ours_is_named_with_what_to_do(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.lock"
    lay(path, kind)
    before = path.lstat()
    with pytest.raises(StorageFailed, match=r"x\.lock can't be \w+: it (is a|belongs to) .*: .*move"):
        acquire(path)
    for asking in (try_lock, lock):
        with pytest.raises(StorageFailed, match=r"x\.lock can't be used: it"), asking(path):
            pass
    assert path.lstat() == before
