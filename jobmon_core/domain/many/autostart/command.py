"""A command of jobmon that this machine runs regularly, and the methods that run it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit
from zlib import crc32

from jobmon_core.domain.errors import JobmonError

# the unit files of a systemd timer; sources: systemd.service(5), systemd.unit(5)
_UNIT = """\
# written by `{name} --install`; `{name} --uninstall` removes it
[Unit]
Description={purpose}

"""
_SERVICE = """\
[Service]
Type=oneshot
ExecStart={command}
"""
_KEEP_CHILDREN = """\
# the monitors that it starts must keep running when it ends
KillMode=process
"""
_TIMER = """\
[Timer]
{at_boot}OnCalendar={calendar}

[Install]
WantedBy=timers.target
"""
_AT_BOOT = "OnStartupSec=1min\n"

# cron and systemd do not set these; without them another cluster may answer, or messages cannot be sent
_EXPORTED = ("SLURM_CONF", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")


class AutostartUnavailable(JobmonError):
    """A command cannot be run automatically in the requested way on this machine."""


class AutostartMethod(StrEnum):
    """What runs a command periodically, in order of preference."""

    CRON = "cron"  # the user's crontab on this host
    SYSTEMD = "systemd"  # a timer of the user's own systemd instance
    SCRONTAB = "scrontab"  # Slurm, as a job


@dataclass(frozen=True, slots=True)
class MethodStatus:
    """Whether a method can be used on this machine."""

    method: AutostartMethod
    unavailable_because: str = ""  # empty if it can be used
    installed: bool = False
    warning: str = ""
    never_runs_because: str = ""  # it can be installed, but would not run at present

    @property
    def is_usable(self) -> bool:
        """Whether it can be installed and would run."""
        return not self.unavailable_because and not self.never_runs_because

    @property
    def is_active(self) -> bool:
        """Whether it is installed and runs."""
        return self.installed and not self.never_runs_because


@dataclass(frozen=True, slots=True)
class RegularCommand:
    """What is run regularly, and when."""

    name: str  # as the user calls it, e.g. ``jobmon recover``
    arguments: tuple[str, ...]
    cron: str  # when, as crontab(5) writes it
    calendar: str  # the same, as systemd.time(7) writes it
    purpose: str
    starts_monitors: bool = False  # run it at boot too, and let what it started go on when it ends
    slurm_arguments: tuple[str, ...] = ()  # further ones where Slurm runs it as a job
    marker_suffix: str = ""  # distinguishes the entries for this command from those for `jobmon recover`


RECOVER = RegularCommand(
    "jobmon recover",
    ("recover", "--quiet"),
    "*/10 * * * *",
    "*:0/10",
    "restart jobmon monitors after a reboot or a kill",
    starts_monitors=True,
    # when a job ends, Slurm kills all its processes, so the command must stay until its monitors end
    slurm_arguments=("--stay",),
)


@dataclass(frozen=True, slots=True)
class AutostartCommand:
    """The command that every method runs."""

    program: tuple[str, ...]  # jobmon's absolute path, with the arguments before the subcommand
    environment: Mapping[str, str]
    home_marker: str  # identifies the entries that jobmon installed for this home
    regular: RegularCommand = RECOVER

    @property
    def marker(self) -> str:
        """What identifies the entries for this command and home."""
        return self.home_marker + self.regular.marker_suffix

    def argv(self, *options: str) -> tuple[str, ...]:
        """Return the command line. It sets the variables through ``env``, so that it needs no shell."""
        settings = (f"{name}={value}" for name, value in self.environment.items())
        return ("/usr/bin/env", *settings, *self.program, *self.regular.arguments, *options)

    def line(self, *options: str) -> str:
        """Return the command line quoted for a shell, if a crontab can hold its characters."""
        argv = self.argv(*options)
        for argument in argv:
            # implementations of cron differ in how they read a backslash, and a newline ends the entry
            if not argument.isprintable() or "\\" in argument:
                raise AutostartUnavailable(f"{argument!r} has a character that a crontab cannot hold")
        return shlex.join(argv)


def marker_for(home: str) -> str:
    """A user may have several homes."""
    return f"jobmon-{crc32(home.encode('utf-8', 'surrogateescape')):08x}"


def exported_env(environment: Mapping[str, str], home: str, path: str) -> dict[str, str]:
    """Return the environment of the command; a proxy URL with a password is left out."""
    exported = {name: environment[name] for name in _EXPORTED if environment.get(name)}
    proxies = {name: value for name, value in _proxies(environment).items() if not _has_password(value)}
    return {"JOBMON_HOME": home, **exported, **proxies, "PATH": path}


def omitted_secrets(environment: Mapping[str, str], secret_variables: Sequence[str]) -> list[str]:
    """Return those variables in use that must not be stored: secrets, and proxies with a password."""
    proxies = [name for name, value in _proxies(environment).items() if _has_password(value)]
    return [*(name for name in secret_variables if environment.get(name, "").strip()), *proxies]


def best_method(statuses: Sequence[MethodStatus], *, killed_at_logout: bool) -> AutostartMethod | None:
    """Return the method to propose, if any can be installed and would run.

    If logind kills the processes of a session at logout, it may also kill what cron started, but never what
    the systemd of a lingering user started.
    """
    usable = [status.method for status in statuses if status.is_usable]
    if killed_at_logout and AutostartMethod.SYSTEMD in usable:
        return AutostartMethod.SYSTEMD
    return next((method for method in AutostartMethod if method in usable), None)


def _proxies(environment: Mapping[str, str]) -> dict[str, str]:
    names = [*_PROXIES, *(name.lower() for name in _PROXIES)]
    return {name: environment[name] for name in names if environment.get(name)}


def _has_password(proxy: str) -> bool:
    try:
        return "@" in urlsplit(proxy if "//" in proxy else f"//{proxy}").netloc
    except ValueError:
        return True  # not a valid URL: it may contain one


def cron_lines(command: AutostartCommand) -> tuple[str, ...]:
    """Return the lines for cron: run at the times of the command, and at boot if it starts monitors."""
    line = command.line().replace("%", r"\%")  # cron reads an unescaped % as a newline
    times = (*(("@reboot",) if command.regular.starts_monitors else ()), command.regular.cron)
    return tuple(f"{when} {line} # {command.marker}" for when in times)


def scrontab_lines(command: AutostartCommand) -> tuple[str, ...]:
    """Return the lines for Slurm's crontab."""
    return (
        f"{_options_prefix(command.marker)} --output=/dev/null",
        f"{command.regular.cron} {command.line(*command.regular.slurm_arguments)} # {command.marker}",
    )


def with_lines(text: str, lines: Sequence[str], marker: str) -> str:
    """Return the crontab with ``lines`` in place of those with ``marker``; unchanged if it has them already.

    They come first, because settings in a crontab (``SHELL=``, ``PATH=``) apply to the lines below them.
    """
    if our_lines(text, marker) == list(lines):
        return text
    return "".join(f"{line}\n" for line in lines) + without_lines(text, marker)


def without_lines(text: str, marker: str) -> str:
    """Return the crontab without the lines that have ``marker``."""
    return "\n".join(line for line in text.split("\n") if not _is_ours(line, marker))


def our_lines(text: str, marker: str) -> list[str]:
    """Return the lines of a crontab that have ``marker``."""
    return [line for line in text.split("\n") if _is_ours(line, marker)]


def _is_ours(line: str, marker: str) -> bool:
    return line.endswith(f" # {marker}") or line.startswith(f"{_options_prefix(marker)} ")


def _options_prefix(marker: str) -> str:
    """Return the start of the line with Slurm's options. It can hold no comment, so the job name marks it."""
    return f"#SCRON --job-name={marker}"


def unit_files(command: AutostartCommand) -> dict[str, str]:
    """Return the text of each unit file by its name, if such a file can hold the arguments."""
    line = " ".join(_quoted(argument) for argument in command.argv())
    service, timer = unit_names(command.marker)
    regular = command.regular
    unit = _UNIT.format(name=regular.name, purpose=regular.purpose)
    at_boot = _AT_BOOT if regular.starts_monitors else ""
    return {
        service: unit + _SERVICE.format(command=line) + (_KEEP_CHILDREN if regular.starts_monitors else ""),
        timer: unit + _TIMER.format(at_boot=at_boot, calendar=regular.calendar),
    }


def unit_names(marker: str) -> tuple[str, str]:
    """Of the service and of the timer."""
    return f"{marker}.service", f"{marker}.timer"


def _quoted(argument: str) -> str:
    """Quote an argument and escape the characters that are special in ExecStart."""
    if not argument.isprintable():
        raise AutostartUnavailable(f"{argument!r} has a character that a unit file cannot hold")
    if argument.replace("/", "").replace("-", "").replace("_", "").replace(".", "").isalnum():
        return argument
    escaped = argument.replace("\\", r"\\").replace('"', r"\"").replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'
