"""The unit files of a systemd timer that brings jobmon back. Pure. Source: systemd.service(5), .unit(5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.autostart.command import EVERY_MINUTES, AutostartCommand, AutostartUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

_ABOUT = "bring back the jobmon monitors that a reboot or a kill ended"
_NOTE = "# written by `jobmon recover --install`; `jobmon recover --uninstall` removes it"

_SERVICE = """\
{note}
[Unit]
Description={about}

[Service]
Type=oneshot
ExecStart={command}
# the monitors that it starts are to stay when it has ended
KillMode=process
"""

_TIMER = """\
{note}
[Unit]
Description={about}

[Timer]
OnStartupSec=1min
OnCalendar=*:0/{minutes}

[Install]
WantedBy=timers.target
"""


def unit_files(command: AutostartCommand) -> Mapping[str, str]:
    """Return the text of each unit file by its name; the timer has the mark's name.

    Raises:
        AutostartUnavailable: a path can't stand in a unit file.
    """
    line = " ".join(_quoted(word) for word in command.argv())
    return {
        service_name(command.marker): _SERVICE.format(note=_NOTE, about=_ABOUT, command=line),
        timer_name(command.marker): _TIMER.format(note=_NOTE, about=_ABOUT, minutes=EVERY_MINUTES),
    }


def service_name(mark: str) -> str:
    """Return the name of the service's unit file."""
    return f"{mark}.service"


def timer_name(mark: str) -> str:
    """Return the name of the timer's unit file."""
    return f"{mark}.timer"


def _quoted(word: str) -> str:
    """Quote a word of a command line, in which %, $, quotes and backslashes mean something."""
    if not word.isprintable():
        raise AutostartUnavailable(f"{word!r} holds a letter that can't stand in a unit file")
    if word.replace("/", "").replace("-", "").replace("_", "").replace(".", "").isalnum():
        return word
    escaped = word.replace("\\", r"\\").replace('"', r"\"").replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'
