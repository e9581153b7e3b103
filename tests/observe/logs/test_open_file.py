from __future__ import annotations

import os
import pwd
import socket
import tempfile
from pathlib import Path

import pytest

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
