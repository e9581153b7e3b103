from __future__ import annotations

import pytest

from jobmon_core.domain.many.autostart.command import (
    AutostartCommand,
    AutostartUnavailable,
    marker_for,
    unit_files,
)

MARKER = marker_for("/home/me/jobmon")


def command(program: str, **environment: str) -> AutostartCommand:
    return AutostartCommand((program,), environment, MARKER)


def test_the_service_does_not_kill_the_monitors_that_it_started() -> None:
    files = unit_files(command("/opt/bin/jobmon"))
    assert set(files) == {f"{MARKER}.service", f"{MARKER}.timer"}
    assert "\nKillMode=process\n" in files[f"{MARKER}.service"]
    assert "\nOnCalendar=*:0/10\n" in files[f"{MARKER}.timer"]


def test_special_characters_of_systemd_are_escaped() -> None:
    service = unit_files(command('/a b/%h/$HOME/"q"'))[f"{MARKER}.service"]
    assert r'ExecStart=/usr/bin/env "/a b/%%h/$$HOME/\"q\"" recover --quiet' in service
    with pytest.raises(AutostartUnavailable):
        unit_files(command("/a\n[Service]"))
