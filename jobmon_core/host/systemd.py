"""The units of the user's own systemd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.autostart.command import AutostartUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from jobmon_core.host.crontab import Ask

_SYSTEMCTL = ("systemctl", "--user")


@dataclass(frozen=True, slots=True)
class UserUnits:
    """The unit files in ``folder``, and the systemd that reads them."""

    folder: Path
    ask: Ask

    def unavailable_because(self) -> str:
        """Return why the user has no systemd here; empty where it answers."""
        said = self.ask((*_SYSTEMCTL, "show", "--property=Version"))
        return "" if said.well else said.words

    def holds(self, files: Mapping[str, str]) -> bool:
        """Tell whether these very files are there, and the timer among them is switched on."""
        return all(self._read(name) == text for name, text in files.items()) and all(
            self._link(name).is_symlink() for name in files if name.endswith(".timer")
        )

    def has_any(self, names: tuple[str, ...]) -> bool:
        """Tell whether any of these files is there."""
        return any((self.folder / name).exists() for name in names)

    def install(self, files: Mapping[str, str]) -> None:
        """Write unit files, and switch on the timers among them.

        Raises:
            AutostartUnavailable: the disk or systemd refused.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                (self.folder / name).write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise AutostartUnavailable(f"{error.filename} can't be written: {error.strerror}") from error
        self._tell("daemon-reload")
        self._tell("enable", "--now", *(name for name in files if name.endswith(".timer")))

    def remove(self, names: tuple[str, ...]) -> None:
        """Switch off the timers among these units and remove their files, also where no systemd answers.

        Raises:
            AutostartUnavailable: the disk refused.
        """
        self.ask((*_SYSTEMCTL, "disable", "--now", *(name for name in names if name.endswith(".timer"))))
        try:
            for name in names:
                (self.folder / name).unlink(missing_ok=True)
                self._link(name).unlink(missing_ok=True)
        except OSError as error:
            raise AutostartUnavailable(f"{error.filename} can't be removed: {error.strerror}") from error
        self.ask((*_SYSTEMCTL, "daemon-reload"))

    def _tell(self, *words: str) -> None:
        said = self.ask((*_SYSTEMCTL, *words))
        if not said.well:
            raise AutostartUnavailable(said.words)

    def _read(self, name: str) -> str:
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""  # missing, or not what we wrote

    def _link(self, name: str) -> Path:
        """Return what switches a timer on: a link that ``systemctl enable`` makes."""
        return self.folder / "timers.target.wants" / name
