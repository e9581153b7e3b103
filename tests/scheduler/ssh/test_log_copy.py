"""The copy of a log on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.domain.node.hosts.model import SeenFile, SeenLog
from jobmon_core.scheduler.ssh import client
from jobmon_core.scheduler.ssh.client import add_to_copy, copy_position
from jobmon_core.scheduler.ssh.records import HostJobFolder


class Copy:
    """A job whose log is copied."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = HostJobFolder(folder), folder / "train.log"

    def add(self, data: bytes, offset: int, inode: str = "1") -> str:
        """Add what a look saw; return the copy."""
        seen = SeenLog(SeenFile(inode, offset + len(data), 0), offset, data)
        add_to_copy(self.folder, self.path, seen)
        return self.path.read_text() if self.path.exists() else ""

    @property
    def next(self) -> tuple[str, int]:
        """Where the next look begins."""
        return copy_position(self.folder, self.path)


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_each_look_adds_what_is_new(copy: Copy) -> None:
    assert copy.next == ("", 0)
    assert copy.add(b"", 0) == ""
    assert copy.add(b"one\ntw", 0) == "one\ntw"
    assert copy.next == ("1", 6)
    before = copy.folder.copy_state()
    assert copy.add(b"o\n", 6) == "one\ntwo\n"
    assert copy.add(b"o\nthree\n", 6) == "one\ntwo\nthree\n"  # a monitor on another machine copied some of it
    assert copy.add(b"", 14) == "one\ntwo\nthree\n"
    assert copy.folder.copy_state() == before  # not written again at each look
    assert copy.path.stat().st_mode & 0o777 == 0o600


def test_what_is_left_out_is_noted_in_the_copy(copy: Copy) -> None:
    assert copy.add(b"end", 100) == "[jobmon: the first 100 bytes of the log are left out]\nend"
    assert copy.next == ("1", 103)
    text = copy.add(b"new\n", 203)
    assert text.endswith("\nend\n[jobmon: 100 bytes of the log are left out here]\nnew\n")
    assert copy.next == ("1", 207)
    assert copy.add(b"aa", 0, inode="2").endswith("new\n[jobmon: the log was replaced here]\naa")
    assert copy.next == ("2", 2)
    assert copy.add(b"b", 0, inode="2").endswith("\n[jobmon: the log was replaced here]\nb")  # truncated


def test_the_copy_is_bounded(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MAX_COPY_BYTES", 10)
    copy.add(b"0123456789ab", 0)
    assert copy.add(b"cd", 12) == "cd"
    assert (copy.path.parent / "train.log.1").read_text() == "0123456789ab"
    assert copy.next == ("1", 14)
