"""Which method to run `jobmon recover` automatically is available and best; programs are scripted."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.app.autostart import Autostart
from jobmon_core.context import Context
from jobmon_core.domain.autostart.command import AutostartMethod, AutostartUnavailable
from jobmon_core.store.home import Home
from tests.support.fake_runner import FakeRunner, said


def autostart(folder: Path, runner: FakeRunner) -> Autostart:
    environment = {"XDG_CONFIG_HOME": str(folder / "config"), "PATH": "/bin"}
    return Autostart.of(Context(Home(folder / "home"), environment), ("/opt/bin/jobmon",), runner)


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
