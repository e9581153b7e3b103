"""Several login nodes with one home: this machine with another host name and boot id."""

from __future__ import annotations

import shutil
import subprocess
import sys
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support import no_locks
from tests.support.processes import monitors_of
from tests.support.user import User

# run a command with its own host name, boot id, and replacements of the given lock files
_ENTER = """
name=$1 boot=$2; shift 2
hostname "$name" && mount --bind "$boot" /proc/sys/kernel/random/boot_id || exit 71
while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit 71; shift 2; done
shift; exec "$@"
"""


class Host:
    """A login node of a user."""

    def __init__(self, user: User, name: str) -> None:
        """Boot it; skip the test if namespaces are not permitted."""
        self.name = name
        self._user = user
        self._folder = user.work.parent / name
        self._folder.mkdir()
        self._locks: dict[Path, Path] = {}
        self.boot()
        if not shutil.which("unshare") or user.run(*self.inside("true")).returncode:
            pytest.skip("cannot simulate another host: unshare --uts --mount is not permitted")

    def boot(self) -> None:
        """Boot or reboot it with a new boot id; processes keep running until the test ends them."""
        (self._folder / "boot_id").write_text(f"{uuid.uuid4()}\n")

    def has_locks_of_its_own(self, paths: Sequence[Path]) -> None:
        """Make locks on these files local to this host, as with Lustre's localflock."""
        for path in paths:
            path.touch(mode=0o600)
            own = self._folder / path.name
            own.touch(mode=0o600)
            self._locks[own] = path

    def inside(self, *argv: str) -> list[str]:
        """Return the command line that runs a command on this host."""
        locks = [str(path) for pair in self._locks.items() for path in pair]
        enter = ("unshare", "--uts", "--mount", "sh", "-c", _ENTER, "sh")
        return [*enter, self.name, str(self._folder / "boot_id"), *locks, "--", *argv]

    def jobmon(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run jobmon on this host."""
        return self._user.run(*self.inside(sys.executable, "-m", "jobmon", *arguments))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start jobmon on this host without waiting for it."""
        return self._start(sys.executable, "-m", "jobmon", *arguments)

    def start_without_locks(self, *arguments: str) -> subprocess.Popen[str]:
        """Start jobmon as if the file systems of this host did not support locks."""
        without = (sys.executable, str(Path(no_locks.__file__)))
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
    """Return the monitors of a home on all hosts, by PID, with the state ids of their jobs."""
    states = {path.stem for path in (home / "state").glob("*.json")}
    found = {}
    for pid in monitors_of(home):
        with suppress(OSError):  # it ended this moment
            argv = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            found[pid] = sorted(states.intersection(argv))
    return found
