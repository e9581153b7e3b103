"""Several login nodes with one home: the same machine under another name and after another boot."""

from __future__ import annotations

import shutil
import subprocess
import sys
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support import lockless
from tests.support.processes import monitors_of
from tests.support.user import User

# what a command sees there: a name, a boot, and a file of its own in the place of each lock that it is given
_ENTER = """
name=$1 boot=$2; shift 2
hostname "$name" && mount --bind "$boot" /proc/sys/kernel/random/boot_id || exit 71
while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit 71; shift 2; done
shift; exec "$@"
"""


class Host:
    """A login node of a user."""

    def __init__(self, user: User, name: str) -> None:
        """Boot it; the test is skipped where namespaces are not permitted."""
        self.name = name
        self._user = user
        self._folder = user.work.parent / name
        self._folder.mkdir()
        self._locks: dict[Path, Path] = {}
        self.boot()
        if not shutil.which("unshare") or user.run(*self.inside("true")).returncode:
            pytest.skip("another host can't be acted here: unshare --uts --mount is not permitted")

    def boot(self) -> None:
        """Start it, or start it anew; what ran on it is for the test to end."""
        (self._folder / "boot_id").write_text(f"{uuid.uuid4()}\n")

    def has_locks_of_its_own(self, paths: Sequence[Path]) -> None:
        """Let no lock on these files reach from here to another host, as Lustre's localflock does."""
        for path in paths:
            path.touch(mode=0o600)
            own = self._folder / path.name
            own.touch(mode=0o600)
            self._locks[own] = path

    def inside(self, *argv: str) -> list[str]:
        """Return what runs a command on this host."""
        locks = [str(path) for pair in self._locks.items() for path in pair]
        enter = ("unshare", "--uts", "--mount", "sh", "-c", _ENTER, "sh")
        return [*enter, self.name, str(self._folder / "boot_id"), *locks, "--", *argv]

    def jobmon(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run jobmon on this host."""
        return self._user.run(*self.inside(sys.executable, "-m", "jobmon", *arguments))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start jobmon on this host; do not wait for it."""
        return self._start(sys.executable, "-m", "jobmon", *arguments)

    def start_without_locks(self, *arguments: str) -> subprocess.Popen[str]:
        """Start jobmon as if no file system of this host had locks."""
        without = (sys.executable, str(Path(lockless.__file__)))
        return self._start(*without, sys.executable, "-m", "jobmon", *arguments)

    def _start(self, *argv: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.inside(*argv),
            cwd=self._user.work,
            env=self._user.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def monitors(home: Path) -> dict[int, list[str]]:
    """Return the monitors of a home, on whatever host: process -> the state ids of its jobs."""
    states = {path.stem for path in (home / "state").glob("*.json")}
    found = {}
    for pid in monitors_of(home):
        with suppress(OSError):  # it ended this moment
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            found[pid] = sorted(states.intersection(words))
    return found
