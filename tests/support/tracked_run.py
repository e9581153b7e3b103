"""A command under `jobmon run` whose log names a tracker's page, and what jobmon shows of that."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.files import write_whole
from tests.support.processes import kill_monitors
from tests.support.shell import Shell


def configure(shell: Shell, **trackers: str) -> None:
    """Write a configuration with short intervals; ``trackers`` are the servers that may be asked."""
    section = {"trackers": trackers} if trackers else {}
    config = {"poll": {"running_s": 5, "pending_s": 5}, "agent": {"enabled": False}, **section}
    write_whole(shell.home / "config.json", json.dumps(config), 0o600)


@contextmanager
def tracked_run(shell: Shell, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command, and end it and its monitor."""
    argv = [sys.executable, "-m", "jobmon", "run", "--", *command]
    null = subprocess.DEVNULL
    with subprocess.Popen(argv, cwd=shell.work, stdin=null, stdout=null, stderr=null) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait()
            kill_monitors(shell.home)


def trackers_shown(shell: Shell) -> list[dict[str, Any]]:
    """Return what `jobmon show` says about trackers of job 1; nothing while there is no job."""
    done = shell.jobmon("show", "1", "--json")
    return list(json.loads(done.stdout)["trackers"]) if done.returncode == 0 else []
