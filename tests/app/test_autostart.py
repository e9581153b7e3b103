"""Which method to run `jobmon recover` automatically is available and best; programs are scripted."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.app.autostart import Autostart
from jobmon_core.context import Context
from jobmon_core.domain.many.autostart.command import AutostartMethod, AutostartUnavailable
from jobmon_core.store.home import Home
from tests.support.fake_runner import FakeRunner, said


def autostart(folder: Path, runner: FakeRunner, *processes: str) -> Autostart:
    """Return the methods of a machine with these processes."""
    for number, name in enumerate(processes, 1):
        (folder / "root/proc" / str(number)).mkdir(parents=True)
        (folder / "root/proc" / str(number) / "comm").write_text(f"{name}\n", encoding="ascii")
    environment = {"XDG_CONFIG_HOME": str(folder / "config"), "PATH": "/bin"}
    ctx = Context(Home(folder / "home"), environment)
    return Autostart.of(ctx, ("/opt/bin/jobmon",), runner, folder / "root")


def test_the_reason_for_each_unavailable_method_is_in_the_error(tmp_path: Path) -> None:
    methods = autostart(tmp_path, FakeRunner())
    with pytest.raises(AutostartUnavailable, match=r"cron: .*systemd: .*scrontab: .*not found on PATH"):
        methods.recommended(methods.statuses())


def test_the_only_available_method_is_recommended(tmp_path: Path) -> None:
    methods = autostart(tmp_path, FakeRunner().on("scrontab", answers=[said()]))
    statuses = {status.method: status for status in methods.statuses()}
    assert methods.recommended(list(statuses.values())) is AutostartMethod.SCRONTAB
    assert statuses[AutostartMethod.SCRONTAB].warning.startswith("it runs as a job")
    assert not statuses[AutostartMethod.SCRONTAB].installed


def test_cron_is_recommended_only_if_its_daemon_runs(tmp_path: Path) -> None:
    runner = FakeRunner().on("crontab", answers=[said()]).on("scrontab", answers=[said()])
    methods = autostart(tmp_path / "with", runner, "init", "crond")
    assert methods.recommended(methods.statuses()) is AutostartMethod.CRON
    methods = autostart(tmp_path / "without", runner, "init")
    assert methods.recommended(methods.statuses()) is AutostartMethod.SCRONTAB


def test_cron_without_a_daemon_is_usable_only_on_request(tmp_path: Path) -> None:
    methods = autostart(tmp_path, FakeRunner().on("crontab", answers=[said()]), "init")
    statuses = methods.statuses()
    with pytest.raises(AutostartUnavailable, match="cron: no cron daemon is running here; systemd: "):
        methods.recommended(statuses)
    cron = next(status for status in statuses if status.method is AutostartMethod.CRON)
    assert (cron.unavailable_because, cron.is_usable) == ("", False)
