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
        ("nfs4", "local_lock=none", "several hosts can use it at once: file locks hold between hosts"),
        (
            "nfs4",
            "local_lock=all",
            "; file locks hold on this host only. You can use jobmon on several hosts",
        ),
        (
            "lustre",
            "lazystatfs",
            "; this file system has no file locks. You can use jobmon on several hosts",
        ),
        (
            "beegfs",
            "rw",
            "heartbeats keep their monitors apart; a monitor without one for 15 minutes is replaced",
        ),
        (
            "of-the-future",
            "rw",
            "file locks hold on this host; whether they hold between hosts is unknown.",
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
        assert told == f"{lies}; only jobmon on this host knows these jobs"
