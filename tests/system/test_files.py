from __future__ import annotations

import errno
import os
import random
import stat
import subprocess
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.system.files import (
    blocking_file,
    discard_unfinished,
    failure_reason,
    make_folder,
    private_folder,
    read_own,
    write_atomically,
)
from tests.support.blocking_files import lay
from tests.support.disk import small_disk
from tests.support.processes import in_a_copy, python, said

KILLS = 25
WRITER = """
import sys
from pathlib import Path
from jobmon_core.system.files import write_atomically
path = Path(sys.argv[1])
print("writing", flush=True)
while True:
    for letter in (b"a", b"b"):
        write_atomically(path, letter * 100_000)
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk") as found:
        yield found.folder


def test_a_writer_killed_at_any_instant_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_atomically(path, b"a" * 100_000)
    for _ in range(KILLS):
        with python(WRITER, str(path)) as writer:
            assert said(writer) == "writing"
            time.sleep(random.uniform(0, 0.01))  # noqa: S311 - the instant is to be any
        content = path.read_bytes()
        assert content in (b"a" * 100_000, b"b" * 100_000)


def test_a_full_disk_leaves_the_old_content_and_nothing_else(disk: Path) -> None:
    path = disk / "state"
    write_atomically(path, b"old")
    with pytest.raises(StorageFailed, match="state cannot be written: No space left"):
        write_atomically(path, b"x" * 1_000_000)
    assert path.read_bytes() == b"old"
    assert list(disk.iterdir()) == [path]


def test_a_read_only_disk_is_reported(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)  # noqa: S607 - a system program
    with pytest.raises(StorageFailed, match="Read-only file system"):
        write_atomically(disk / "state", b"x")
    with pytest.raises(StorageFailed, match="Read-only file system"):
        private_folder(disk / "folder")


def test_a_file_in_the_place_of_a_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for refused in (private_folder, make_folder):
        for path in (tmp_path / "file", tmp_path / "file" / "below"):
            with pytest.raises(StorageFailed, match=" cannot be used: File exists"):
                refused(path)
    with pytest.raises(StorageFailed, match="Not a directory"):
        write_atomically(tmp_path / "file" / "below", b"x")


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o177, 0o777])
def test_new_files_and_folders_are_private_with_any_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        folder = private_folder(tmp_path / "home" / "state" / "monitors")
        write_atomically(folder / "file", b"x")
    finally:
        os.umask(before)
    assert mode(folder / "file") == 0o600
    assert {mode(made) for made in (folder, folder.parent, folder.parent.parent)} == {0o700}


def test_a_folder_that_others_may_enter_becomes_private(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o755)
    assert mode(private_folder(tmp_path / "state")) == 0o700


def test_make_folder_keeps_the_mode_of_an_existing_folder(tmp_path: Path) -> None:
    (tmp_path / "checkout").mkdir(mode=0o755)
    assert mode(make_folder(tmp_path / "checkout")) == 0o755


def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    foreign = tmp_path / "theirs"
    foreign.mkdir()
    foreign.chmod(0o777)
    if os.getuid() != 0:
        pytest.skip("another user can be acted only by root")
    for folder in (foreign, *foreign.parents):
        folder.chmod(folder.stat().st_mode | 0o055)

    def refused() -> None:
        with pytest.raises(StorageFailed, match="belongs to user root, not to you: run jobmon as its owner"):
            private_folder(foreign)

    in_a_copy(refused, as_nobody=True)


def test_a_link_in_the_place_of_a_folder_is_refused_and_its_target_unchanged(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.mkdir(mode=0o755)
    for name in (target, tmp_path / "nowhere"):
        link.unlink(missing_ok=True)
        link.symlink_to(name)
        with pytest.raises(StorageFailed, match=r"link is a symbolic link, .*remove it"):
            private_folder(link)
    assert mode(target) == 0o755
    assert list(target.iterdir()) == []


def test_a_file_of_another_user_is_not_read(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("a file can be given away only by root")
    (tmp_path / "file").write_text("content")
    os.chown(tmp_path / "file", 12345, 12345)
    with pytest.raises(OSError, match="belongs to user 12345, not to you"):
        read_own(tmp_path / "file", 100)


def test_writing_does_not_follow_a_link(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "state"
    victim.write_text("precious")
    path.symlink_to(victim)
    write_atomically(path, b"x")
    assert victim.read_text() == "precious"
    assert not path.is_symlink()


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("content")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for ever
    assert read_own(tmp_path / "file", 100) == b"content"
    for name in ("link", "folder", "pipe", "missing"):
        with pytest.raises(OSError, match=r".+") as caught:
            read_own(tmp_path / name, 100)
        assert caught.value.strerror


def test_a_failed_read_leaves_no_open_descriptor(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        with pytest.raises(IsADirectoryError):
            read_own(tmp_path / "folder", 100)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_file_and_a_missing_file_block_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    assert blocking_file(path) == ""
    path.touch()
    assert blocking_file(path) == ""


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("folder", "it is a folder, but jobmon keeps a file there; move it away"),
        ("link", "it is a symbolic link, but jobmon keeps a file there; move it away"),
        ("pipe", "it is a named pipe, but jobmon keeps a file there; move it away"),
        ("device", "it is a device, but jobmon keeps a file there; move it away"),
        ("foreign file", "it belongs to user 12345, not to you; remove it or ask 12345 to remove it"),
    ],
)
def test_anything_else_is_named_with_a_remedy(tmp_path: Path, kind: str, text: str) -> None:
    lay(tmp_path / "x.lock", kind)
    assert blocking_file(tmp_path / "x.lock") == text
    assert failure_reason(tmp_path / "x.lock", IsADirectoryError(errno.EISDIR, "Is a directory")) == text


def test_an_error_with_another_cause_keeps_the_systems_message(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    full = OSError(errno.ENOSPC, "No space left on device")
    assert failure_reason(tmp_path / "x", full) == "No space left on device"
    assert failure_reason(tmp_path / "x", OSError("no errno")) == "no errno"


def test_a_check_before_the_last_step_keeps_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_atomically(path, b"old")

    def refuse() -> None:
        raise StorageFailed("not the owner")

    with pytest.raises(StorageFailed, match="not the owner"):
        write_atomically(path, b"new", check=refuse)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_writer_whose_unfinished_file_was_discarded_changes_nothing(tmp_path: Path) -> None:
    path, other = tmp_path / "x.json", tmp_path / "x.json.old.json"

    def discard() -> None:
        write_atomically(path, b"by the next owner", check=lambda: None)
        discard_unfinished(tmp_path, {"x.json"})

    with pytest.raises(StorageFailed, match=r"x\.json cannot be written: No such file"):
        write_atomically(path, b"by a frozen process", check=discard)
    assert path.read_bytes() == b"by the next owner"
    write_atomically(other, b"new", check=lambda: discard_unfinished(tmp_path, {"x.json"}))
    assert other.read_bytes() == b"new"
    discard_unfinished(tmp_path / "missing", {"x.json"})  # does not raise


def test_a_small_file_takes_little_memory_however_large_it_may_be(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_atomically(path, b"{}")
    tracemalloc.start()
    try:
        assert read_own(path, 2**30) == b"{}"
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
