"""The user's crontab, read and written by the program ``crontab``, or by Slurm's ``scrontab``."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.many.autostart.command import AutostartUnavailable
from jobmon_core.system.runner import succeeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.system.runner import Result, Runner

_TIMEOUT_S = 30.0
# how bytes that are not UTF-8 are decoded: writing them back would change a line that is not ours
_UNDECODABLE = "\N{REPLACEMENT CHARACTER}"
# the error for a user without a crontab: cron of Debian and Red Hat, scrontab; then busybox
_NO_CRONTAB_YET = ("no crontab for", "no such file or directory")
_CRON_DAEMONS = ("cron", "crond", "fcron", "dcron", "bcron-start")
_ROOT = Path("/")


@dataclass(frozen=True, slots=True)
class Crontab:
    """The crontab that ``program`` manages."""

    program: str
    runner: Runner

    def read(self) -> str:
        """Return the text of the crontab, empty if the user has none yet.

        Raises:
            AutostartUnavailable: the program is missing, the user may not use it, or it is disabled; or the
            crontab has bytes that are not UTF-8.
        """
        result = self._run("-l")
        if not succeeded(result):
            if any(message in result.error_text.lower() for message in _NO_CRONTAB_YET):
                return ""
            raise AutostartUnavailable(result.error_text)
        if _UNDECODABLE in result.stdout:
            raise AutostartUnavailable(
                f"{self.program}: it contains bytes that are not UTF-8, and writing it back would change them"
            )
        return result.stdout

    def change(self, edit: Callable[[str], str]) -> bool:
        """Replace the text by what ``edit`` returns for it; return whether that differs.

        Raises:
            AutostartUnavailable: the crontab cannot be read or written.
        """
        text = self.read()
        new_text = edit(text)
        if new_text == text:
            return False
        result = self._write(new_text) if new_text else self._run("-r")
        if not succeeded(result):
            raise AutostartUnavailable(result.error_text)
        return True

    def _write(self, text: str) -> Result:
        """Pass the text to the program in a file that only the user can read."""
        try:
            with tempfile.NamedTemporaryFile("w", prefix="jobmon-", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                return self._run(file.name)
        except OSError as error:
            raise AutostartUnavailable(f"{error.filename or 'a temporary file'}: {error.strerror}") from error

    def _run(self, argument: str) -> Result:
        return self.runner.capture((self.program, argument), _TIMEOUT_S)


def cron_runs(root: Path = _ROOT) -> bool:
    """Return whether a cron daemon is among the processes; True if other users' processes are hidden."""
    if not (root / "proc/1/comm").exists():
        return True
    return any(_program_name(process) in _CRON_DAEMONS for process in (root / "proc").glob("[0-9]*"))


def _program_name(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""  # the process has just ended
