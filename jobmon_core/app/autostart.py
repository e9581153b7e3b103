"""Install and remove what runs a command of jobmon periodically: cron, systemd or scrontab."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.many.autostart.command import (
    RECOVER,
    AutostartCommand,
    AutostartMethod,
    AutostartUnavailable,
    MethodStatus,
    RegularCommand,
    best_method,
    cron_lines,
    exported_env,
    marker_for,
    omitted_secrets,
    our_lines,
    scrontab_lines,
    unit_files,
    unit_names,
    with_lines,
    without_lines,
)
from jobmon_core.domain.many.autostart.logind_rules import kills_at_logout
from jobmon_core.host.autostart import Crontab, UserUnits, cron_runs
from jobmon_core.host.logind import Logind
from jobmon_core.notify.discord.channel import WEBHOOK_VARIABLES
from jobmon_core.system.environment import QUERY_PROGRAMS, SMTP_PASSWORD_VARIABLE, dir_of_program
from jobmon_core.system.runner import Runner
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from jobmon_core.context import Context

_ROOT = Path("/")
_SYSTEM_DIRS = ("/usr/local/bin", "/usr/bin", "/bin")


@dataclass(frozen=True, slots=True)
class CrontabInstaller:
    """Marked lines in a crontab: cron's, or Slurm's.

    A method that fails raises AutostartUnavailable; a generator does only when it is iterated.
    """

    method: AutostartMethod
    command: AutostartCommand
    crontab: Crontab
    lines: Callable[[AutostartCommand], tuple[str, ...]]

    def unavailable_because(self) -> str:
        """Return why this method cannot be used, if it cannot."""
        try:
            self.lines(self.command)
            self.crontab.read()
        except AutostartUnavailable as error:
            return str(error)
        return ""

    def installed(self) -> bool:
        """Whether the crontab has lines of this home; False if it cannot be read."""
        try:
            return bool(our_lines(self.crontab.read(), self.command.marker))
        except AutostartUnavailable:
            return False

    def preview(self) -> Iterator[str]:
        """Yield what installing adds, for the user."""
        yield f"--install adds these lines at the top of your {self.crontab.program}, and keeps the others:"
        yield from (f"  {line}" for line in self.lines(self.command))

    def installed_entries(self) -> Iterator[str]:
        """Yield what uninstalling removes, for the user."""
        yield f"--uninstall removes these lines from your {self.crontab.program}:"
        yield from (f"  {line}" for line in our_lines(self.crontab.read(), self.command.marker))

    def install(self) -> bool:
        """Add or update the lines; return False if they were up to date already."""
        lines = self.lines(self.command)
        return self.crontab.change(lambda text: with_lines(text, lines, self.command.marker))

    def uninstall(self) -> None:
        """Remove the lines."""
        self.crontab.change(lambda text: without_lines(text, self.command.marker))


@dataclass(frozen=True, slots=True)
class SystemdInstaller:
    """A timer of the user's own systemd instance; fails as `CrontabInstaller` does."""

    command: AutostartCommand
    units: UserUnits
    method: AutostartMethod = field(default=AutostartMethod.SYSTEMD, init=False)

    @property
    def _names(self) -> tuple[str, str]:
        return unit_names(self.command.marker)

    def unavailable_because(self) -> str:
        """Return why this method cannot be used, if it cannot."""
        try:
            unit_files(self.command)
        except AutostartUnavailable as error:
            return str(error)
        return self.units.unavailable_because()

    def installed(self) -> bool:
        """Whether a unit file of this home exists."""
        return self.units.has_any(self._names)

    def preview(self) -> Iterator[str]:
        """Yield what installing writes, and the command that it runs, for the user."""
        for name, text in unit_files(self.command).items():
            yield f"--install writes the file {self.units.folder / name}:"
            yield from (f"  {line}" for line in text.splitlines())
        yield f"--install runs `systemctl --user enable --now {self._names[1]}`"

    def installed_entries(self) -> Iterator[str]:
        """Yield what uninstalling removes, for the user."""
        yield from (f"--uninstall removes the file {self.units.folder / name}" for name in self._names)

    def install(self) -> bool:
        """Write the unit files and start the timer; return False if that was done already."""
        files = unit_files(self.command)
        if self.units.installed(files):
            return False
        self.units.install(files)
        return True

    def uninstall(self) -> None:
        """Disable the timer and remove the unit files."""
        self.units.remove(self._names)


@dataclass(frozen=True, slots=True)
class Autostart:
    """All methods for one home on this machine."""

    installers: Mapping[AutostartMethod, CrontabInstaller | SystemdInstaller]
    omitted_secrets: Sequence[str]  # names of set variables whose values must not be written to a file
    regular: RegularCommand = RECOVER
    root: Path = _ROOT  # whose files show the processes and logind's settings

    @classmethod
    def of(
        cls,
        ctx: Context,
        program: tuple[str, ...],
        runner: Runner | None = None,
        root: Path = _ROOT,
        regular: RegularCommand = RECOVER,
    ) -> Autostart:
        """Return the methods for this home; ``program`` starts jobmon from any directory."""
        home, environment = str(ctx.home.root), ctx.environment
        exported = exported_env(environment, home, search_path(environment))
        command = AutostartCommand(program, exported, marker_for(home), regular)
        runner = runner or Runner()
        cron, scrontab = Crontab("crontab", runner), Crontab("scrontab", runner)
        folder = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"
        installers = (
            CrontabInstaller(AutostartMethod.CRON, command, cron, cron_lines),
            SystemdInstaller(command, UserUnits(folder, runner)),
            CrontabInstaller(AutostartMethod.SCRONTAB, command, scrontab, scrontab_lines),
        )
        secrets = omitted_secrets(environment, (*WEBHOOK_VARIABLES.values(), SMTP_PASSWORD_VARIABLE))
        return cls({installer.method: installer for installer in installers}, secrets, regular, root)

    def statuses(self) -> list[MethodStatus]:
        """Return the status of every method."""
        return [
            MethodStatus(
                method,
                installer.unavailable_because(),
                installer.installed(),
                self._warning(method),
                self._never_runs_because(method),
            )
            for method, installer in self.installers.items()
        ]

    def recommended(self, statuses: Sequence[MethodStatus]) -> AutostartMethod:
        """Return the best method for this machine; raise AutostartUnavailable without any."""
        method = best_method(statuses, killed_at_logout=self._killed_at_logout())
        if method is None:
            reasons = "; ".join(
                f"{status.method}: {status.unavailable_because or status.never_runs_because}"
                for status in statuses
            )
            raise AutostartUnavailable(
                f"nothing here can run `{self.regular.name}` automatically ({reasons})"
            )
        return method

    def _killed_at_logout(self) -> bool:
        return kills_at_logout(Logind(self.root).settings(), user_name())

    def _never_runs_because(self, method: AutostartMethod) -> str:
        lacks_daemon = method is AutostartMethod.CRON and not cron_runs(self.root)
        return "no cron daemon is running here" if lacks_daemon else ""

    def _warning(self, method: AutostartMethod) -> str:
        match method:
            case AutostartMethod.CRON if self._killed_at_logout():
                return "logind may kill at logout what cron starts (KillUserProcesses)"
            case AutostartMethod.SYSTEMD if not Logind(self.root).lingers(user_name()):
                return "it stops when you log out; `loginctl enable-linger` keeps it running"
            case AutostartMethod.SCRONTAB:
                return "it runs as a job: its node needs access to jobmon's home and to your channels"
            case _:
                return ""


def search_path(environment: Mapping[str, str]) -> str:
    """Return a PATH with the same Slurm commands, but short: cron limits the line length."""
    folders = (dir_of_program(program, environment) for program in QUERY_PROGRAMS)
    return ":".join(dict.fromkeys((*filter(None, folders), *_SYSTEM_DIRS)))
