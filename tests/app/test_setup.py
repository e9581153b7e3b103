from __future__ import annotations

import os
from pathlib import Path

import pytest

from jobmon_core.app.setup import describe_home
from jobmon_core.system.filesystem import Filesystem
from tests.support.disk import small_disk


@pytest.mark.parametrize(
    ("kind", "option", "words"),
    [
        ("nfs4", "local_lock=none", "locks hold between hosts"),
        (
            "nfs4",
            "local_lock=all",
            "locks hold on this host only. Between hosts, the owner record of each job keeps monitors apart",
        ),
        (
            "lustre",
            "lazystatfs",
            "locks hold nowhere: this file system has no locks. Between hosts, the owner",
        ),
        ("beegfs", "rw", "a monitor without a heartbeat for 15 minutes is replaced"),
        (
            "of-the-future",
            "rw",
            "locks hold on this host; whether they hold between hosts is unknown.",
        ),
    ],
)
def test_a_user_reads_what_keeps_monitors_apart(kind: str, option: str, words: str) -> None:
    told = describe_home(Path("/home/me/jobmon"), Filesystem(kind, "/home", frozenset({option})))
    assert told.startswith(f"/home/me/jobmon is on {kind} (mounted at /home); ")
    assert words in told


def test_the_file_system_of_this_very_home_is_named(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        told = describe_home(disk.folder)
        lies = f"{disk.folder} is on tmpfs (mounted at {os.path.realpath(disk.folder)})"
        assert told == f"{lies}; locks hold on this host, and no other host sees this disk"
