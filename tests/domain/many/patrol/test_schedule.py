"""When an installed patrol runs, as cron and systemd write it."""

from __future__ import annotations

import pytest

from jobmon_core.domain.many.autostart.command import (
    AutostartCommand,
    cron_lines,
    marker_for,
    our_lines,
    scrontab_lines,
    unit_files,
    with_lines,
)
from jobmon_core.domain.many.patrol.schedule import NoSchedule, patrol_command

HOME = marker_for("/h")


@pytest.mark.parametrize(
    ("minutes", "cron", "calendar"),
    [
        (30, "3,33 * * * *", "*:3,33"),
        (15, "3,18,33,48 * * * *", "*:3,18,33,48"),
        (60, "3 * * * *", "*:3"),
        (120, "3 */2 * * *", "0/2:3"),
        (1440, "3 8 * * *", "8:3"),
    ],
)
def test_cron_and_systemd_run_it_at_the_same_times(minutes: int, cron: str, calendar: str) -> None:
    command = patrol_command(minutes, "")
    assert (command.cron, command.calendar) == (cron, calendar)


@pytest.mark.parametrize("minutes", [0, 1, 4, 5.5, 7, 45, 61, 90, 300, 2880])
def test_an_interval_that_cron_or_jobmon_does_not_offer_is_refused(minutes: float) -> None:
    with pytest.raises(NoSchedule, match=r"every 5m, 6m, .*30m, 1h, .*1d, but not every \d"):
        patrol_command(minutes, "")


def test_the_entries_of_recover_and_of_the_patrol_are_kept_apart() -> None:
    recover = AutostartCommand(("/j",), {}, HOME)
    patrol = AutostartCommand(("/j",), {}, HOME, patrol_command(30, "error"))
    text = with_lines(with_lines("", cron_lines(recover), recover.marker), cron_lines(patrol), patrol.marker)
    assert our_lines(text, recover.marker) == list(cron_lines(recover))
    assert our_lines(text, patrol.marker) == list(cron_lines(patrol))
    (line,) = cron_lines(patrol)
    assert line == f"3,33 * * * * /usr/bin/env /j patrol --unattended --to error # {HOME}-patrol"
    assert not set(unit_files(recover)) & set(unit_files(patrol))
    slurm = with_lines("", scrontab_lines(patrol), patrol.marker)
    assert "--stay" not in slurm
    assert our_lines(slurm, recover.marker) == []


def test_the_units_of_a_patrol_start_nothing_at_boot_and_keep_nothing_running() -> None:
    service, timer = unit_files(AutostartCommand(("/j",), {}, HOME, patrol_command(60, ""))).values()
    assert "KillMode" not in service
    assert "OnStartupSec" not in timer
    assert "\nOnCalendar=*:3\n" in timer
    assert "`jobmon patrol --uninstall` removes it" in timer
