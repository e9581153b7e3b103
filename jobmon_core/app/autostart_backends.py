"""The methods that run `jobmon recover` automatically: how each is installed, removed and shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.autostart.command import AutostartCommand, AutostartMethod, AutostartUnavailable
from jobmon_core.domain.autostart.crontab_text import our_lines, with_lines, without_lines
from jobmon_core.domain.autostart.systemd_units import unit_files, unit_names
from jobmon_core.system.lock import command_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jobmon_core.host.crontab import Crontab
    from jobmon_core.host.systemd import UserUnits

_LOCK_TIMEOUT_S = 60.0  # scrontab waits for slurmctld


@dataclass(frozen=True, slots=True)
class CrontabBackend:
    """Marked lines in a crontab: cron's, or Slurm's."""

    method: AutostartMethod
    command: AutostartCommand
    crontab: Crontab
    lines: Callable[[AutostartCommand], tuple[str, ...]]
    lock_path: Path  # two commands that edit the crontab at once would lose the change of one

    def unavailable_because(self) -> str:
        """Return why it cannot be used, empty if it can."""
        try:
            self.lines(self.command)
            self.crontab.read()
        except AutostartUnavailable as error:
            return str(error)
        return ""

    def installed(self) -> bool:
        """Return whether the crontab has lines of this home."""
        try:
            return bool(our_lines(self.crontab.read(), self.command.marker))
        except AutostartUnavailable:
            return False

    def preview(self) -> Iterator[str]:
        """Yield the lines that installing adds."""
        yield f"lines at the top of your {self.crontab.program} (all other lines stay unchanged):"
        yield from (f"  {line}" for line in self.lines(self.command))

    def installed_entries(self) -> Iterator[str]:
        """Yield the lines that uninstalling removes.

        Raises:
            AutostartUnavailable: the crontab cannot be read.
        """
        yield f"these lines of your {self.crontab.program}:"
        yield from (f"  {line}" for line in our_lines(self.crontab.read(), self.command.marker))

    def install(self) -> bool:
        """Add the lines; return False if they were there already.

        Raises:
            AutostartUnavailable: the crontab cannot be read or written.
            CommandBusy: another command is changing the crontab.
        """
        lines = self.lines(self.command)
        return self._change(lambda text: with_lines(text, lines, self.command.marker))

    def uninstall(self) -> bool:
        """Remove the lines; return False if there were none.

        Raises:
            AutostartUnavailable: the crontab cannot be read or written.
            CommandBusy: another command is changing the crontab.
        """
        return self._change(lambda text: without_lines(text, self.command.marker))

    def _change(self, edit: Callable[[str], str]) -> bool:
        with command_lock(self.lock_path, "jobmon recover --install", _LOCK_TIMEOUT_S):
            return self.crontab.change(edit)


@dataclass(frozen=True, slots=True)
class SystemdBackend:
    """A timer of the user's own systemd instance."""

    command: AutostartCommand
    units: UserUnits
    method: AutostartMethod = field(default=AutostartMethod.SYSTEMD, init=False)

    @property
    def _names(self) -> tuple[str, str]:
        return unit_names(self.command.marker)

    def unavailable_because(self) -> str:
        """Return why it cannot be used, empty if it can."""
        try:
            unit_files(self.command)
        except AutostartUnavailable as error:
            return str(error)
        return self.units.unavailable_because()

    def installed(self) -> bool:
        """Return whether a unit file of this home exists."""
        return self.units.has_any(self._names)

    def preview(self) -> Iterator[str]:
        """Yield the files that installing writes, and the command that it runs."""
        for name, text in unit_files(self.command).items():
            yield f"the file {self.units.folder / name}:"
            yield from (f"  {line}" for line in text.splitlines())
        yield f"and runs `systemctl --user enable --now {self._names[1]}`"

    def installed_entries(self) -> Iterator[str]:
        """Yield the files that uninstalling removes."""
        yield from (f"the file {self.units.folder / name}" for name in self._names)

    def install(self) -> bool:
        """Write the unit files and enable the timer; return False if that was done already.

        Raises:
            AutostartUnavailable: a file cannot be written, or systemd refused.
        """
        files = unit_files(self.command)
        if self.units.installed(files):
            return False
        self.units.install(files)
        return True

    def uninstall(self) -> bool:
        """Disable the timer and remove the unit files; return False if there were none.

        Raises:
            AutostartUnavailable: a file cannot be removed.
        """
        if not self.installed():
            return False
        self.units.remove(self._names)
        return True
