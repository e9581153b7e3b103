"""Putting `jobmon recover` where the machine starts it again and again, and taking it away."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from jobmon_core.app.autostart_backends import CrontabBackend, SystemdBackend, asked_through
from jobmon_core.app.submit import user_name
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
from jobmon_core.domain.autostart.logind_rules import ends_processes
from jobmon_core.host.crontab import cron_runs
from jobmon_core.host.logind import Logind
from jobmon_core.notify.discord.settings import WEBHOOK_VARIABLES
from jobmon_core.system.env_fingerprint import SLURM, dir_of_program
from jobmon_core.system.runner import ProgramRunner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobmon_core.context import Context
    from jobmon_core.system.runner import Runner

_SYSTEM = ("/usr/local/bin", "/usr/bin", "/bin")


class AutostartBackend(Protocol):
    """One way, as far as it can be used here."""

    @property
    def method(self) -> AutostartMethod:
        """Which way it is."""
        ...

    def unavailable_because(self) -> str:
        """Return why it can't be used; empty where it can."""
        ...

    def installed(self) -> bool:
        """Tell whether it holds something of ours."""
        ...

    def preview(self) -> Iterator[str]:
        """Yield what installing adds, line by line."""
        ...

    def installed_entries(self) -> Iterator[str]:
        """Yield what uninstalling takes away, line by line."""
        ...

    def install(self) -> bool:
        """Install; return whether that changed anything."""
        ...

    def uninstall(self) -> bool:
        """Take away what was installed; return whether there was anything."""
        ...


@dataclass(frozen=True, slots=True)
class Autostart:
    """All ways of one home on this machine."""

    backends: Mapping[AutostartMethod, AutostartBackend]
    logind: Logind
    user: str
    omitted_secrets: Sequence[str] = ()  # variables that are too secret to be carried

    @classmethod
    def of(cls, ctx: Context, program: tuple[str, ...], runner: Runner | None = None) -> Autostart:
        """Return the ways for a home.

        Args:
            ctx: the tools of that home.
            program: how jobmon is called, an absolute path first.
            runner: what starts the programs that are asked; by default the real thing.
        """
        home, environment = str(ctx.home.root), ctx.environment
        command = AutostartCommand(
            program, exported_env(environment, home, search_path(environment)), marker_for(home)
        )
        ask = asked_through(runner or ProgramRunner())
        folder = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"
        means: tuple[AutostartBackend, ...] = (
            CrontabBackend.cron(command, ask),
            SystemdBackend(command, folder, ask),
            CrontabBackend.scrontab(command, ask),
        )
        secrets = omitted_secrets(environment, tuple(WEBHOOK_VARIABLES.values()))
        return cls({each.method: each for each in means}, Logind(), user_name(), secrets)

    def statuses(self) -> list[MethodStatus]:
        """Return every way, with why it can't be used or what is to be known of it."""
        return [
            MethodStatus(way, means.unavailable_because(), means.installed(), self._caution(way))
            for way, means in self.backends.items()
        ]

    def recommended(self, offers: Sequence[MethodStatus]) -> AutostartMethod:
        """Return the way that suits this machine best.

        Raises:
            AutostartUnavailable: there is none.
        """
        way = best_method(offers, killed_at_logout=self._killed_at_logout())
        if way is None:
            whys = "; ".join(f"{offer.method}: {offer.unavailable_because}" for offer in offers)
            raise AutostartUnavailable(
                f"this machine offers no way to start `jobmon recover` by itself ({whys})"
            )
        return way

    def _killed_at_logout(self) -> bool:
        return ends_processes(self.logind.settings(), self.user)

    def _caution(self, way: AutostartMethod) -> str:
        match way:
            case AutostartMethod.CRON if not cron_runs():
                return "no cron was seen running on this machine"
            case AutostartMethod.CRON if self._killed_at_logout():
                return "logind of this machine may end what cron starts (KillUserProcesses)"
            case AutostartMethod.SYSTEMD if not self.logind.lingers(self.user):
                return "it stops when you log out, unless you let it linger: `loginctl enable-linger`"
            case AutostartMethod.SCRONTAB:
                return "it runs as a job: its node has to see jobmon's home, and to reach Discord"
            case _:
                return ""


def search_path(environment: Mapping[str, str]) -> str:
    """Return a PATH on which Slurm's commands are found as they are now; short, for cron bounds its lines."""
    folders = (dir_of_program(program, environment) for program in SLURM)
    return ":".join(dict.fromkeys((*filter(None, folders), *_SYSTEM)))
