"""The socket lies in a folder that only its user can enter."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
from pathlib import Path

import pytest

from jobmon_core.domain.errors import StorageFailed, UsageError
from jobmon_core.system.web.listening import is_own_user, listen_at, listen_on_port, socket_folder

_NOBODY = 65_534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's temporary folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setitem(vars(tempfile), "tempdir", None)
    return tmp_path


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_the_runtime_folder_of_the_user_is_taken(tmp_path: Path) -> None:
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    folder = socket_folder({"XDG_RUNTIME_DIR": str(runtime)})
    assert folder == runtime / "jobmon"
    assert _mode(folder) == 0o700


@pytest.mark.parametrize("runtime", ["", "relative", "/nowhere/run"])
def test_otherwise_the_temporary_folder(tmp_path: Path, runtime: str) -> None:
    folder = socket_folder({"XDG_RUNTIME_DIR": runtime})
    assert folder == tmp_path / f"jobmon-{os.geteuid()}"
    assert _mode(folder) == 0o700
    assert socket_folder({}) == folder


def test_a_runtime_folder_that_others_can_enter_is_not_taken(tmp_path: Path) -> None:
    runtime = tmp_path / "run"
    runtime.mkdir()
    runtime.chmod(0o755)
    assert socket_folder({"XDG_RUNTIME_DIR": str(runtime)}).parent == tmp_path


def test_a_folder_that_others_can_enter_is_refused(tmp_path: Path) -> None:
    (tmp_path / f"jobmon-{os.geteuid()}").mkdir()
    (tmp_path / f"jobmon-{os.geteuid()}").chmod(0o755)
    with pytest.raises(StorageFailed, match="only you can enter"):
        socket_folder({})


def test_a_link_in_its_place_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "mine"
    target.mkdir(mode=0o700)
    (tmp_path / f"jobmon-{os.geteuid()}").symlink_to(target)
    with pytest.raises(StorageFailed, match="only you can enter"):
        socket_folder({})


def test_a_temporary_folder_in_which_others_can_replace_files_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(StorageFailed, match="can replace your files"):
        socket_folder({})
    tmp_path.chmod(0o1777)
    assert socket_folder({}).parent == tmp_path


@as_root
def test_a_folder_that_another_user_made_first_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / f"jobmon-{os.geteuid()}"
    folder.mkdir(mode=0o700)
    os.chown(folder, _NOBODY, _NOBODY)
    with pytest.raises(StorageFailed, match="belongs to nobody"):
        socket_folder({})


def test_the_socket_is_private_and_takes_the_place_of_a_dead_one(tmp_path: Path) -> None:
    path = tmp_path / "web.sock"
    with listen_at(path):
        assert _mode(path) == 0o600
    with listen_at(path):  # the first one is still there
        assert _mode(path) == 0o600


def test_a_second_server_says_which_process_serves(tmp_path: Path) -> None:
    path = tmp_path / "web.sock"
    with listen_at(path), pytest.raises(UsageError, match=f"kill {os.getpid()}"):
        listen_at(path)


def test_a_path_that_is_too_long_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="too long for a socket"):
        listen_at(tmp_path / ("x" * 120))


def test_a_port_that_is_taken_is_named() -> None:
    with listen_on_port(0) as first:
        port = first.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} cannot be used"):
            listen_on_port(port)


def test_a_connection_of_the_same_user_is_recognised(tmp_path: Path) -> None:
    with listen_at(tmp_path / "web.sock") as listener, socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "web.sock"))
        connection, _ = listener.accept()
        with connection:
            assert is_own_user(connection)
