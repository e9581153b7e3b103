"""A user's crontab, as the program ``crontab`` shows and takes it; Slurm's ``scrontab`` answers alike."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jobmon_core.domain.autostart.command import AutostartUnavailable

# what stands for bytes that are no text: writing it back would change a line that is not ours
_UNREADABLE = "\N{REPLACEMENT CHARACTER}"
# a user without a crontab: cron of Debian and Red Hat, scrontab; then busybox
_NONE_YET = ("no crontab for", "no such file or directory")
_CRONS = ("cron", "crond", "fcron", "dcron", "bcron-start")
_ROOT = Path("/")


@dataclass(frozen=True, slots=True)
class Crontab:
    """The crontab that ``program`` manages."""

    program: str
    ask: Ask

    def read(self) -> str:
        """Return its text, empty where there is none yet.

        Raises:
            AutostartUnavailable: it can't be had: the program is missing, not allowed, or switched off.
        """
        said = self.ask((self.program, "-l"))
        if not said.well:
            if any(words in said.words.lower() for words in _NONE_YET):
                return ""
            raise AutostartUnavailable(said.words)
        if _UNREADABLE in said.stdout:
            raise AutostartUnavailable(
                f"{self.program}: it holds bytes that are no UTF-8, which would be lost"
            )
        return said.stdout

    def change(self, edit: Callable[[str], str]) -> bool:
        """Put what ``edit`` makes of the text in its place; return whether that is another text.

        Raises:
            AutostartUnavailable: the program refused; its words say why.
        """
        text = self.read()
        wanted = edit(text)
        if wanted == text:
            return False
        said = self._write(wanted) if wanted else self.ask((self.program, "-r"))
        if not said.well:
            raise AutostartUnavailable(said.words)
        return True

    def _write(self, text: str) -> Said:
        """Hand a text over in a file that only its user can read."""
        try:
            with tempfile.NamedTemporaryFile("w", prefix="jobmon-", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                return self.ask((self.program, file.name))
        except OSError as error:
            raise AutostartUnavailable(f"{error.filename or 'a temporary file'}: {error.strerror}") from error


def cron_runs(root: Path = _ROOT) -> bool:
    """Tell whether a cron was seen among the processes; also true where others' processes are hidden."""
    if not (root / "proc/1/comm").exists():
        return True
    return any(_name(process) in _CRONS for process in (root / "proc").glob("[0-9]*"))


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""  # it has just ended


@dataclass(frozen=True, slots=True)
class Said:
    """What came of running a program."""

    well: bool  # it ran, and ended with exit code 0
    stdout: str = ""
    words: str = ""  # where it did not end well: why, as one line


Ask = Callable[[Sequence[str]], Said]
