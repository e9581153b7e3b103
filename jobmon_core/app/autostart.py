"""Runs `jobmon recover` automatically by cron, systemd or scrontab: which of them can, and which is best."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.app.autostart_backends import CrontabBackend, SystemdBackend
from jobmon_core.domain.autostart.command import (
    AutostartCommand,
    AutostartMethod,
    AutostartUnavailable,
    MethodStatus,
    best_method,
    exported_env,
    marker_for,
    omitted_secrets,
)
from jobmon_core.domain.autostart.crontab_text import cron_lines, scrontab_lines
from jobmon_core.domain.autostart.logind_rules import ends_processes
from jobmon_core.host.crontab import Crontab, cron_runs
from jobmon_core.host.logind import Logind
from jobmon_core.host.systemd import UserUnits
from jobmon_core.notify.discord.settings import WEBHOOK_VARIABLES
from jobmon_core.system.environment import SLURM_PROGRAMS, dir_of_program
from jobmon_core.system.process import user_name
from jobmon_core.system.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon_core.context import Context

_SYSTEM_DIRS = ("/usr/local/bin", "/usr/bin", "/bin")


AutostartBackend = CrontabBackend | SystemdBackend


@dataclass(frozen=True, slots=True)
class Autostart:
    """All methods for one home on this machine."""

    backends: Mapping[AutostartMethod, AutostartBackend]
    logind: Logind
    user: str
    omitted_secrets: Sequence[str] = ()  # variables that are set, but must not be written anywhere

    @classmethod
    def of(cls, ctx: Context, program: tuple[str, ...], runner: Runner | None = None) -> Autostart:
        """Return the methods for the home of ``ctx``.

        Args:
            ctx: the context of the home.
            program: how jobmon is called, with an absolute path first.
            runner: starts crontab, systemctl and scrontab; tests replace it.
        """
        home, environment = str(ctx.home.root), ctx.environment
        command = AutostartCommand(
            program, exported_env(environment, home, search_path(environment)), marker_for(home)
        )
        runner = runner or Runner()
        lock_path = ctx.home.monitors / "crontab.lock"
        cron, scrontab = Crontab("crontab", runner), Crontab("scrontab", runner)
        folder = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"
        backends: tuple[AutostartBackend, ...] = (
            CrontabBackend(AutostartMethod.CRON, command, cron, cron_lines, lock_path),
            SystemdBackend(command, UserUnits(folder, runner)),
            CrontabBackend(AutostartMethod.SCRONTAB, command, scrontab, scrontab_lines, lock_path),
        )
        secrets = omitted_secrets(environment, tuple(WEBHOOK_VARIABLES.values()))
        return cls({backend.method: backend for backend in backends}, Logind(), user_name(), secrets)

    def statuses(self) -> list[MethodStatus]:
        """Return the status of every method."""
        return [
            MethodStatus(method, backend.unavailable_because(), backend.installed(), self._warning(method))
            for method, backend in self.backends.items()
        ]

    def recommended(self, statuses: Sequence[MethodStatus]) -> AutostartMethod:
        """Return the best method for this machine.

        Raises:
            AutostartUnavailable: none of them can be used.
        """
        method = best_method(statuses, killed_at_logout=self._killed_at_logout())
        if method is None:
            reasons = "; ".join(f"{status.method}: {status.unavailable_because}" for status in statuses)
            raise AutostartUnavailable(f"this machine cannot run `jobmon recover` automatically ({reasons})")
        return method

    def _killed_at_logout(self) -> bool:
        return ends_processes(self.logind.settings(), self.user)

    def _warning(self, method: AutostartMethod) -> str:
        match method:
            case AutostartMethod.CRON if not cron_runs():
                return "no cron daemon is running on this machine"
            case AutostartMethod.CRON if self._killed_at_logout():
                return "logind may kill at logout what cron starts (KillUserProcesses)"
            case AutostartMethod.SYSTEMD if not self.logind.lingers(self.user):
                return "it stops when you log out; `loginctl enable-linger` keeps it running"
            case AutostartMethod.SCRONTAB:
                return "it runs as a job: its node needs access to jobmon's home and to Discord"
            case _:
                return ""


def search_path(environment: Mapping[str, str]) -> str:
    """Return a PATH that finds the same Slurm commands; a short one, since cron limits the line length."""
    folders = (dir_of_program(program, environment) for program in SLURM_PROGRAMS)
    return ":".join(dict.fromkeys((*filter(None, folders), *_SYSTEM_DIRS)))
