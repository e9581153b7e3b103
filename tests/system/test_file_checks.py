from __future__ import annotations

import errno
from pathlib import Path

import pytest

from jobmon_core.system.file_checks import blocking_file, failure_reason, is_own
from tests.support.blocking_files import lay


def test_a_file_a_link_and_a_missing_file_block_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    assert blocking_file(path) == ""
    assert not is_own(path)
    path.touch()
    assert blocking_file(path) == ""
    assert is_own(path)
    (tmp_path / "link").symlink_to(path)
    assert blocking_file(tmp_path / "link") == ""
    assert not is_own(tmp_path / "link")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("folder", "it is a folder, but jobmon keeps a file there; move it away"),
        ("pipe", "it is a named pipe, but jobmon keeps a file there; move it away"),
        ("device", "it is a device, but jobmon keeps a file there; move it away"),
        ("foreign file", "it belongs to user 12345, not to you; remove it or ask 12345 to remove it"),
    ],
)
def test_anything_else_is_named_with_a_remedy(tmp_path: Path, kind: str, text: str) -> None:
    lay(tmp_path / "x.lock", kind)
    assert blocking_file(tmp_path / "x.lock") == text
    assert not is_own(tmp_path / "x.lock")
    assert failure_reason(tmp_path / "x.lock", IsADirectoryError(errno.EISDIR, "Is a directory")) == text


def test_an_error_with_another_cause_keeps_the_systems_message(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    full = OSError(errno.ENOSPC, "No space left on device")
    assert failure_reason(tmp_path / "x", full) == "No space left on device"
    assert failure_reason(tmp_path / "x", OSError("no errno")) == "no errno"
