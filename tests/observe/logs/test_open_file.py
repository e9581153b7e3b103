from __future__ import annotations

import gzip
import os
import pwd
import socket
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.observe.logs.open_file import find_rotated, regular_file
from jobmon_core.observe.logs.read import read_head, read_tail


@pytest.mark.parametrize("name", ["gone.log", "gone/deep.log", "x" * 300])
def test_a_missing_log_is_a_problem(tmp_path: Path, name: str) -> None:
    assert "does not exist" in read_tail(str(tmp_path / name)).problem


def test_dev_null_is_reported_as_discarded_output() -> None:
    assert "discarded" in read_tail("/dev/null").problem


def test_a_device_is_never_opened() -> None:
    assert "is a device" in read_tail("/dev/zero").problem


def test_a_folder_is_a_problem(tmp_path: Path) -> None:
    assert read_tail(str(tmp_path)).problem == "is a folder"


def test_a_pipe_is_reported_without_waiting_for_a_writer(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "is a pipe" in read_tail(str(pipe)).problem
    assert "is a pipe" in read_head(str(pipe)).problem


def test_a_socket_is_a_problem() -> None:
    with socket.socket(socket.AF_UNIX) as server, tempfile.TemporaryDirectory() as short:
        server.bind(f"{short}/s")
        assert "is a socket" in read_tail(f"{short}/s").problem


def test_a_log_without_read_permission_is_a_problem(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("secret\n")
    log.chmod(0)
    # root may read everything: so read as another user
    other_user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else os.geteuid()
    before = os.geteuid()
    os.seteuid(other_user)
    try:
        problem = read_tail(str(log)).problem
    finally:
        os.seteuid(before)
    assert "permission" in problem


def test_circular_links_and_invalid_names_are_problems(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert "back to itself" in read_tail(str(tmp_path / "a")).problem
    assert read_tail("a\x00b").problem.startswith("cannot be read")
    assert read_tail("a\ud800b").problem.startswith("cannot be read")
    assert read_tail("").problem


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link away")
def test_a_link_that_another_user_made_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "home" / "diary"
    secret.parent.mkdir()
    secret.write_text("dear diary\n")
    group = tmp_path / "group"
    group.mkdir()
    group.chmod(0o775)
    link, folder = group / "slurm-7.out", group / "logs"
    link.symlink_to(secret)
    folder.symlink_to(secret.parent)
    for mine in (link, folder / "diary"):
        assert read_tail(str(mine)).texts == ("dear diary",)
    for each in (link, folder):
        os.chown(each, 4711, -1, follow_symlinks=False)
    for path, place in ((link, link), (folder / "diary", folder)):
        part = read_tail(str(path))
        assert part.texts == ()
        assert part.problem == f"is not read: {place} is a symbolic link that another user made"
    (tmp_path / "own").symlink_to(link)  # a link of one's own to one of someone else
    assert read_tail(str(tmp_path / "own")).texts == ()
    os.chown(group, 4711, -1)  # who owns the folder made the link
    assert read_tail(str(link)).texts == ("dear diary",)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link away")
def test_a_link_on_the_way_that_an_administrator_made_is_followed(tmp_path: Path) -> None:
    (tmp_path / "lustre").mkdir()
    (tmp_path / "lustre" / "a.log").write_text("text\n")
    (tmp_path / "scratch").symlink_to("lustre")
    os.chown(tmp_path / "scratch", 4711, -1, follow_symlinks=False)
    assert read_tail(str(tmp_path / "scratch" / "a.log")).texts == ("text",)


def test_relative_paths_and_links_to_them_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x.log").write_text("text\n")
    (tmp_path / "a" / "l").symlink_to("../a/./b/")
    for path in ("a/l/x.log", "./a/../a/l/../b/x.log", f"{tmp_path}//a/l/x.log"):
        assert read_tail(path).texts == ("text",), path


def test_a_removed_file_is_read_by_its_descriptor() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"text\n")
        file.flush()
        assert read_tail(f"/dev/fd/{file.fileno()}").texts == ("text",)


def test_a_short_file_takes_little_memory_however_much_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * 3_000_000)
    tracemalloc.start()
    try:
        with regular_file(str(path)) as file:
            assert len(file.read_at(1, 2**30)) == 2_999_999
        assert tracemalloc.get_traced_memory()[1] < 12 * 2**20
    finally:
        tracemalloc.stop()


def aged(path: Path, text: str, seconds: int) -> None:
    path.write_text(text)
    os.utime(path, (seconds, seconds))


def test_a_missing_log_is_replaced_by_its_newest_rotated_copy(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    aged(tmp_path / "job.log.0", "older\n", 1000)
    aged(tmp_path / "job.log.1", "younger\n", 2000)
    gone = read_tail(str(log))
    assert (gone.path, gone.texts) == (f"{log}.1", ("younger",))


def test_an_empty_log_is_not_replaced(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    aged(tmp_path / "job.log.1", "of an earlier job\n", 2000)
    log.touch()
    assert read_tail(str(log)).problem == "is empty"


@pytest.mark.parametrize("suffix", [".gz", ".1.gz"])
def test_a_compressed_copy_replaces_a_missing_log(tmp_path: Path, suffix: str) -> None:
    log = tmp_path / "job.log"
    Path(f"{log}{suffix}").write_bytes(gzip.compress(b"the end\n"))
    part = read_tail(str(log))
    assert (part.path, part.texts) == (f"{log}{suffix}", ("the end",))


def test_a_log_with_text_is_not_replaced(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    aged(log, "new\n", 1000)
    aged(tmp_path / "job.log.1", "old\n", 2000)
    assert read_tail(str(log)).texts == ("new",)


def test_an_empty_copy_a_folder_and_a_pipe_replace_nothing(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    (tmp_path / "job.log.1").touch()
    (tmp_path / "job.log.0").mkdir()
    os.mkfifo(tmp_path / "job.log.gz")
    assert find_rotated(str(log)) == str(log)
    assert read_tail(str(log)).problem == "does not exist"


def test_a_device_and_an_empty_path_are_not_replaced() -> None:
    assert [find_rotated(path) for path in ("/dev/null", "")] == ["/dev/null", ""]


@given(st.text())
def test_no_path_raises(path: str) -> None:
    assert find_rotated(path).startswith(path)
