"""The units of the user's own systemd instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.many.autostart.command import AutostartUnavailable
from jobmon_core.system.runner import succeeded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from jobmon_core.system.runner import Result, Runner

_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class UserUnits:
    """The unit files in ``folder``, and the systemd instance that reads them."""

    folder: Path
    runner: Runner

    def unavailable_because(self) -> str:
        """Return why the user's systemd cannot be used; empty if it responds."""
        result = self._systemctl("show", "--property=Version")
        if succeeded(result):
            return ""
        return result.error_text

    def installed(self, files: Mapping[str, str]) -> bool:
        """Return whether these files are in the folder with these texts, and their timers are enabled."""
        return all(self._read(name) == text for name, text in files.items()) and all(
            self._enabled_link(name).is_symlink() for name in _timers(files)
        )

    def has_any(self, names: tuple[str, ...]) -> bool:
        """Return whether the folder has any of these files."""
        return any((self.folder / name).exists() for name in names)

    def install(self, files: Mapping[str, str]) -> None:
        """Write unit files, and enable and start the timers among them.

        Raises:
            AutostartUnavailable: a file cannot be written, or systemd refused.
        """
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
        """Disable and stop the timers among these units and remove the files, even if systemd does not run.

        Raises:
            AutostartUnavailable: a file cannot be removed.
        """
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
            return ""  # missing, or not written by jobmon

    def _enabled_link(self, name: str) -> Path:
        """Return the link that ``systemctl enable`` makes for a timer."""
        return self.folder / "timers.target.wants" / name


def _timers(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.endswith(".timer")]
