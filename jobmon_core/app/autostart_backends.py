"""The ways by which a machine starts `jobmon recover`, each as install, uninstall and what they show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.autostart.command import AutostartCommand, AutostartMethod, AutostartUnavailable
from jobmon_core.domain.autostart.crontab_text import (
    cron_lines,
    our_lines,
    scrontab_lines,
    with_lines,
    without_lines,
)
from jobmon_core.domain.autostart.systemd_units import service_name, timer_name, unit_files
from jobmon_core.host.crontab import Ask, Crontab, Said
from jobmon_core.host.systemd import UserUnits
from jobmon_core.system.runner import Ran, Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

_TIMEOUT_S = 30.0


def asked_through(runner: Runner) -> Ask:
    """Return the seam of the host's adapters, over what starts programs."""

    def ask(argv: Sequence[str]) -> Said:
        answer = runner.capture(argv, _TIMEOUT_S)
        if isinstance(answer, Ran) and answer.exit_code == 0:
            return Said(well=True, stdout=answer.stdout)
        return Said(well=False, words=answer.error_text)

    return ask


@dataclass(frozen=True, slots=True)
class CrontabBackend:
    """Marked lines in a crontab: cron's, or Slurm's."""

    method: AutostartMethod
    command: AutostartCommand
    crontab: Crontab
    lines: Callable[[AutostartCommand], tuple[str, ...]]

    @classmethod
    def cron(cls, command: AutostartCommand, ask: Ask) -> CrontabBackend:
        """Return the way by this host's cron."""
        return cls(AutostartMethod.CRON, command, Crontab("crontab", ask), cron_lines)

    @classmethod
    def scrontab(cls, command: AutostartCommand, ask: Ask) -> CrontabBackend:
        """Return the way by Slurm."""
        return cls(AutostartMethod.SCRONTAB, command, Crontab("scrontab", ask), scrontab_lines)

    def unavailable_because(self) -> str:
        """Return why it can't be used; empty where it can."""
        try:
            self.lines(self.command)
            self.crontab.read()
        except AutostartUnavailable as error:
            return str(error)
        return ""

    def installed(self) -> bool:
        """Tell whether the crontab holds lines of ours."""
        try:
            return bool(our_lines(self.crontab.read(), self.command.marker))
        except AutostartUnavailable:
            return False

    def preview(self) -> Iterator[str]:
        """Yield the lines that are added."""
        yield f"lines at the top of your {self.crontab.program}, the others stay as they are:"
        yield from (f"  {line}" for line in self.lines(self.command))

    def installed_entries(self) -> Iterator[str]:
        """Yield the lines that are taken away.

        Raises:
            AutostartUnavailable: the crontab can't be had.
        """
        yield f"these lines of your {self.crontab.program}:"
        yield from (f"  {line}" for line in our_lines(self.crontab.read(), self.command.marker))

    def install(self) -> bool:
        """Add our lines; return whether they were not there yet.

        Raises:
            AutostartUnavailable: the program refused.
        """
        lines = self.lines(self.command)
        return self.crontab.change(lambda text: with_lines(text, lines, self.command.marker))

    def uninstall(self) -> bool:
        """Take our lines away; return whether there were any.

        Raises:
            AutostartUnavailable: the program refused.
        """
        return self.crontab.change(lambda text: without_lines(text, self.command.marker))


@dataclass(frozen=True, slots=True)
class SystemdBackend:
    """A timer of the user's own systemd."""

    command: AutostartCommand
    folder: Path
    ask: Ask
    method: AutostartMethod = field(default=AutostartMethod.SYSTEMD, init=False)

    @property
    def _units(self) -> UserUnits:
        return UserUnits(self.folder, self.ask)

    @property
    def _names(self) -> tuple[str, ...]:
        return service_name(self.command.marker), timer_name(self.command.marker)

    def unavailable_because(self) -> str:
        """Return why it can't be used; empty where it can."""
        try:
            unit_files(self.command)
        except AutostartUnavailable as error:
            return str(error)
        return self._units.unavailable_because()

    def installed(self) -> bool:
        """Tell whether a unit file of ours is there."""
        return self._units.has_any(self._names)

    def preview(self) -> Iterator[str]:
        """Yield the files that are written, and what is told to systemd."""
        for name, text in unit_files(self.command).items():
            yield f"the file {self.folder / name}:"
            yield from (f"  {line}" for line in text.splitlines())
        yield f"and `systemctl --user enable --now {timer_name(self.command.marker)}`"

    def installed_entries(self) -> Iterator[str]:
        """Yield the files that are removed."""
        yield from (f"the file {self.folder / name}" for name in self._names)

    def install(self) -> bool:
        """Write the units and switch the timer on; return whether it was not so already.

        Raises:
            AutostartUnavailable: the disk or systemd refused.
        """
        files = unit_files(self.command)
        if self._units.holds(files):
            return False
        self._units.install(files)
        return True

    def uninstall(self) -> bool:
        """Switch the timer off and remove the units; return whether there were any.

        Raises:
            AutostartUnavailable: the disk refused.
        """
        if not self.installed():
            return False
        self._units.remove(self._names)
        return True
