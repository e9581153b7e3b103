"""jobmon at a shell, on a machine without Slurm."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import fake_crontab
from tests.support.cron_daemon import USERS_OWN, cron_daemon
from tests.support.shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell of this test's own."""
    return Shell(tmp_path, os.environ)


@pytest.fixture
def table(shell: Shell) -> Iterator[Path]:
    """The user's crontab, where an installed entry finds the same programs, and a cron daemon."""
    path = shell.work / "table"
    path.write_text(USERS_OWN, encoding="utf-8")
    shell.program("crontab", f'exec {sys.executable} {fake_crontab.__file__} {path} "$@"')
    shell.program("squeue", "exit 1")  # its folder is in the PATH of an entry
    with cron_daemon(shell.work):
        yield path
