"""The unit files of a systemd timer for a command of jobmon. Pure.

Sources: systemd.service(5), systemd.unit(5).
"""

from __future__ import annotations

from jobmon_core.domain.autostart.command import AutostartCommand, AutostartUnavailable

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


def unit_files(command: AutostartCommand) -> dict[str, str]:
    """Return the name and text of each unit file; the names start with the command's marker.

    Raises:
        AutostartUnavailable: an argument has a character that a unit file cannot hold.
    """
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
