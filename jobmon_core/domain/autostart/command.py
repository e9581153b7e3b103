"""How jobmon comes back by itself after a reboot, a logout or a kill: what is run, and by whom. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit
from zlib import crc32

from jobmon_core.domain.errors import JobmonError

EVERY_MINUTES = 10

# what a program that nobody's shell starts would lack: another cluster would answer, or no message go out
_CARRIED = ("SLURM_CONF", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")


class AutostartUnavailable(JobmonError):
    """Nothing on this machine brings jobmon back in the way that was asked for."""


class AutostartMethod(StrEnum):
    """What starts `jobmon recover` again and again."""

    CRON = "cron"  # this host's cron, by the user's crontab
    SYSTEMD = "systemd"  # a timer of the user's own systemd
    SCRONTAB = "scrontab"  # Slurm itself, as a job


@dataclass(frozen=True, slots=True)
class MethodStatus:
    """One way, and whether this machine allows it."""

    method: AutostartMethod
    unavailable_because: str = ""  # why it can't be used; empty where it can
    installed: bool = False
    warning: str = ""  # what the user should know of it here


@dataclass(frozen=True, slots=True)
class AutostartCommand:
    """What is run: the same words whoever starts it."""

    program: tuple[str, ...]  # the absolute path of jobmon, with what has to stand before its verb
    environment: Mapping[str, str]
    marker: str  # tells what jobmon installed for this home from all else

    def argv(self, *options: str) -> tuple[str, ...]:
        """Return the command line; ``env`` says the same in every shell, and without one."""
        settings = (f"{name}={value}" for name, value in self.environment.items())
        return ("/usr/bin/env", *settings, *self.program, "recover", "--quiet", *options)

    def line(self, *options: str) -> str:
        """Return the command line as a shell takes it.

        Raises:
            AutostartUnavailable: a path holds what no line can.
        """
        words = self.argv(*options)
        for word in words:
            # cron treats a backslash each time otherwise, and a line ends at its end
            if not word.isprintable() or "\\" in word:
                raise AutostartUnavailable(f"{word!r} holds a letter that can't stand in a crontab")
        return shlex.join(words)


def marker_for(home: str) -> str:
    """Return the mark of one home of jobmon: a user may have several."""
    return f"jobmon-{crc32(home.encode('utf-8', 'surrogateescape')):08x}"


def exported_env(environment: Mapping[str, str], home: str, path: str) -> dict[str, str]:
    """Return the variables that ``jobmon recover`` needs where no shell of the user's set them.

    Args:
        environment: the variables of the user's shell.
        home: jobmon's home.
        path: where Slurm's commands are found.
    """
    kept = {name: environment[name] for name in _CARRIED if environment.get(name)}
    proxies = {name: value for name, value in _proxies(environment).items() if not _has_password(value)}
    return {"JOBMON_HOME": home, **kept, **proxies, "PATH": path}


def omitted_secrets(environment: Mapping[str, str], secrets: Sequence[str]) -> list[str]:
    """Return the variables that jobmon uses now and that are too secret for a crontab.

    Args:
        environment: the variables of the user's shell.
        secrets: the names of those that hold a webhook.
    """
    proxies = [name for name, value in _proxies(environment).items() if _has_password(value)]
    return [*(name for name in secrets if environment.get(name, "").strip()), *proxies]


def best_method(offers: Sequence[MethodStatus], *, killed_at_logout: bool) -> AutostartMethod | None:
    """Return the way to propose; None where there is none.

    cron needs least. But where logind ends what a session leaves behind, it may end what cron started too,
    and never what a user's lingering systemd did.
    """
    order = (
        (AutostartMethod.SYSTEMD, AutostartMethod.CRON)
        if killed_at_logout
        else (AutostartMethod.CRON, AutostartMethod.SYSTEMD)
    )
    usable = {offer.method for offer in offers if not offer.unavailable_because}
    return next((way for way in (*order, AutostartMethod.SCRONTAB) if way in usable), None)


def _proxies(environment: Mapping[str, str]) -> dict[str, str]:
    names = [*_PROXIES, *(name.lower() for name in _PROXIES)]
    return {name: environment[name] for name in names if environment.get(name)}


def _has_password(proxy: str) -> bool:
    try:
        return "@" in urlsplit(proxy if "//" in proxy else f"//{proxy}").netloc
    except ValueError:
        return True  # it can't be told
