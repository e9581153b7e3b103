"""Systemd units, and crontabs of ``crontab`` or of Slurm's ``scrontab``."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.many.autostart.command import AutostartUnavailable
from jobmon_core.system.runner import succeeded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from jobmon_core.system.runner import Result, Runner


_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class UserUnits:
    """The unit files in ``folder``, and the systemd instance that reads them."""

    folder: Path
    runner: Runner

    def unavailable_because(self) -> str:
        """Return why the user's systemd cannot be used."""
        result = self._systemctl("show", "--property=Version")
        if succeeded(result):
            return ""
        return result.error_text

    def installed(self, files: Mapping[str, str]) -> bool:
        """Whether these files are installed, and their timers enabled."""
        return all(self._read(name) == text for name, text in files.items()) and all(
            self._enabled_link(name).is_symlink() for name in _timers(files)
        )

    def has_any(self, names: tuple[str, ...]) -> bool:
        """Whether the folder has any of these files."""
        return any((self.folder / name).exists() for name in names)

    def install(self, files: Mapping[str, str]) -> None:
        """Write unit files, and enable and start the timers among them."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                (self.folder / name).write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise AutostartUnavailable(f"cannot write {error.filename}: {error.strerror}") from error
        for arguments in (("daemon-reload",), ("enable", "--now", *_timers(files))):
            result = self._systemctl(*arguments)
            if not succeeded(result):
                raise AutostartUnavailable(result.error_text)

    def remove(self, names: tuple[str, ...]) -> None:
        """Disable the timers and remove the files, even if systemd does not run."""
        self._systemctl("disable", "--now", *_timers(names))
        try:
            for name in names:
                (self.folder / name).unlink(missing_ok=True)
                self._enabled_link(name).unlink(missing_ok=True)
        except OSError as error:
            raise AutostartUnavailable(f"cannot remove {error.filename}: {error.strerror}") from error
        self._systemctl("daemon-reload")

    def _systemctl(self, *arguments: str) -> Result:
        return self.runner.capture(("systemctl", "--user", *arguments), _TIMEOUT_S)

    def _read(self, name: str) -> str:
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    def _enabled_link(self, name: str) -> Path:
        return self.folder / "timers.target.wants" / name


def _timers(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.endswith(".timer")]


# writing bytes that are not UTF-8 back would change a line that is not ours
_UNDECODABLE = "\N{REPLACEMENT CHARACTER}"
# of cron of Debian and Red Hat, scrontab; then busybox
_NO_CRONTAB_YET = ("no crontab for", "no such file or directory")
_CRON_DAEMONS = ("cron", "crond", "fcron", "dcron", "bcron-start")
_ROOT = Path("/")


@dataclass(frozen=True, slots=True)
class Crontab:
    """The crontab that ``program`` manages."""

    program: str
    runner: Runner

    def read(self) -> str:
        """Return an empty text if the user has none yet."""
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
        """Replace the text by what ``edit`` returns for it; return whether that differs."""
        text = self.read()
        new_text = edit(text)
        if new_text == text:
            return False
        result = self._write(new_text) if new_text else self._run("-r")
        if not succeeded(result):
            raise AutostartUnavailable(result.error_text)
        return True

    def _write(self, text: str) -> Result:
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
    """Whether a cron daemon runs; True if other users' processes are hidden."""
    if not (root / "proc/1/comm").exists():
        return True
    return any(_program_name(process) in _CRON_DAEMONS for process in (root / "proc").glob("[0-9]*"))


def _program_name(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
