"""Putting `jobmon recover` where the machine starts it again and again, and taking it away."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from jobmon_core.app.autostart_backends import ByCrontab, BySystemd, asked_through
from jobmon_core.app.submit import user_name
from jobmon_core.domain.autostart.command import (
    Errand,
    NoWayBack,
    Offer,
    Way,
    best,
    carried,
    left_behind,
    mark_of,
)
from jobmon_core.domain.autostart.logind_rules import ends_processes
from jobmon_core.domain.config import WEBHOOK_VARIABLES
from jobmon_core.host.crontab import cron_runs
from jobmon_core.host.logind import Logind
from jobmon_core.system.env_fingerprint import SLURM, folder_of
from jobmon_core.system.runner import Programs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobmon_core.context import Workshop
    from jobmon_core.system.runner import Runner

_SYSTEM = ("/usr/local/bin", "/usr/bin", "/bin")


class Means(Protocol):
    """One way, as far as it can be used here."""

    @property
    def way(self) -> Way:
        """Which way it is."""
        ...

    def hindrance(self) -> str:
        """Return why it can't be used; empty where it can."""
        ...

    def installed(self) -> bool:
        """Tell whether it holds something of ours."""
        ...

    def shown(self) -> Iterator[str]:
        """Yield what installing adds, line by line."""
        ...

    def held(self) -> Iterator[str]:
        """Yield what uninstalling takes away, line by line."""
        ...

    def install(self) -> bool:
        """Install; return whether that changed anything."""
        ...

    def uninstall(self) -> bool:
        """Take away what was installed; return whether there was anything."""
        ...


@dataclass(frozen=True, slots=True)
class Comeback:
    """All ways of one home on this machine."""

    means: Mapping[Way, Means]
    logind: Logind
    user: str
    left_behind: Sequence[str] = ()  # variables that are too secret to be carried

    @classmethod
    def of(cls, shop: Workshop, program: tuple[str, ...], runner: Runner | None = None) -> Comeback:
        """Return the ways for a home.

        Args:
            shop: the tools of that home.
            program: how jobmon is called, an absolute path first.
            runner: what starts the programs that are asked; by default the real thing.
        """
        home, environment = str(shop.home.root), shop.environment
        errand = Errand(program, carried(environment, home, search_path(environment)), mark_of(home))
        ask = asked_through(runner or Programs())
        folder = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"
        means: tuple[Means, ...] = (
            ByCrontab.cron(errand, ask),
            BySystemd(errand, folder, ask),
            ByCrontab.scrontab(errand, ask),
        )
        secrets = left_behind(environment, tuple(WEBHOOK_VARIABLES.values()))
        return cls({each.way: each for each in means}, Logind(), user_name(), secrets)

    def offers(self) -> list[Offer]:
        """Return every way, with why it can't be used or what is to be known of it."""
        return [
            Offer(way, means.hindrance(), means.installed(), self._caution(way))
            for way, means in self.means.items()
        ]

    def proposed(self, offers: Sequence[Offer]) -> Way:
        """Return the way that suits this machine best.

        Raises:
            NoWayBack: there is none.
        """
        way = best(offers, killed_at_logout=self._killed_at_logout())
        if way is None:
            whys = "; ".join(f"{offer.way}: {offer.hindrance}" for offer in offers)
            raise NoWayBack(f"this machine offers no way to start `jobmon recover` by itself ({whys})")
        return way

    def _killed_at_logout(self) -> bool:
        return ends_processes(self.logind.settings(), self.user)

    def _caution(self, way: Way) -> str:
        match way:
            case Way.CRON if not cron_runs():
                return "no cron was seen running on this machine"
            case Way.CRON if self._killed_at_logout():
                return "logind of this machine may end what cron starts (KillUserProcesses)"
            case Way.SYSTEMD if not self.logind.lingers(self.user):
                return "it stops when you log out, unless you let it linger: `loginctl enable-linger`"
            case Way.SCRONTAB:
                return "it runs as a job: its node has to see jobmon's home, and to reach Discord"
            case _:
                return ""


def search_path(environment: Mapping[str, str]) -> str:
    """Return a PATH on which Slurm's commands are found as they are now; short, for cron bounds its lines."""
    folders = (folder_of(program, environment) for program in SLURM)
    return ":".join(dict.fromkeys((*filter(None, folders), *_SYSTEM)))
