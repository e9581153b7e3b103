"""The unit files of a systemd timer for `jobmon recover`. Pure. Source: systemd.service(5), .unit(5)."""

from __future__ import annotations

from jobmon_core.domain.autostart.command import EVERY_MINUTES, AutostartCommand, AutostartUnavailable

_UNIT = """\
# written by `jobmon recover --install`; `jobmon recover --uninstall` removes it
[Unit]
Description=restart jobmon monitors after a reboot or a kill

"""
_SERVICE = f"""\
{_UNIT}[Service]
Type=oneshot
ExecStart={{command}}
# the monitors that it starts must keep running when it ends
KillMode=process
"""
_TIMER = f"""\
{_UNIT}[Timer]
OnStartupSec=1min
OnCalendar=*:0/{EVERY_MINUTES}

[Install]
WantedBy=timers.target
"""


def unit_files(command: AutostartCommand) -> dict[str, str]:
    """Return the name and text of each unit file; the names start with the command's marker.

    Raises:
        AutostartUnavailable: an argument has a character that a unit file cannot hold.
    """
    line = " ".join(_quoted(argument) for argument in command.argv())
    service, timer = unit_names(command.marker)
    return {service: _SERVICE.format(command=line), timer: _TIMER}


def unit_names(marker: str) -> tuple[str, str]:
    """Return the names of the unit files: of the service and of the timer."""
    return f"{marker}.service", f"{marker}.timer"


def _quoted(argument: str) -> str:
    """Quote an argument and escape the characters that are special in ExecStart."""
    if not argument.isprintable():
        raise AutostartUnavailable(f"{argument!r} has a character that a unit file cannot hold")
    if argument.replace("/", "").replace("-", "").replace("_", "").replace(".", "").isalnum():
        return argument
    escaped = argument.replace("\\", r"\\").replace('"', r"\"").replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'
