from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.domain.many.autostart.command import AutostartUnavailable
from jobmon_core.host.systemd import UserUnits
from tests.support.fake_runner import FakeRunner, said

FILES = {"jobmon-1.service": "[Service]\n", "jobmon-1.timer": "[Timer]\n"}
NAMES = tuple(FILES)


@pytest.fixture
def systemd() -> FakeRunner:
    return FakeRunner().on("systemctl", answers=[said()])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "systemd" / "user"


@pytest.fixture
def units(systemd: FakeRunner, folder: Path) -> UserUnits:
    return UserUnits(folder, systemd)


def switch_on(folder: Path) -> Path:
    """Do what ``systemctl enable`` does."""
    link = folder / "timers.target.wants" / "jobmon-1.timer"
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(folder / "jobmon-1.timer")
    return link


def test_installing_writes_the_files_and_enables_the_timer(
    units: UserUnits, systemd: FakeRunner, folder: Path
) -> None:
    units.install(FILES)
    assert {path.name: path.read_text() for path in folder.iterdir()} == FILES
    assert systemd.asked == [
        ("systemctl", "--user", "daemon-reload"),
        ("systemctl", "--user", "enable", "--now", "jobmon-1.timer"),
    ]
    assert not units.installed(FILES)
    switch_on(folder)
    assert units.installed(FILES)
    assert not units.installed({**FILES, "jobmon-1.timer": "[Timer]\nOnCalendar=daily\n"})


def test_removing_leaves_the_users_own_units(units: UserUnits, systemd: FakeRunner, folder: Path) -> None:
    units.install(FILES)
    link = switch_on(folder)
    (folder / "mine.timer").write_text("[Timer]\n")
    units.remove(NAMES)
    assert [path.name for path in folder.iterdir() if path.is_file()] == ["mine.timer"]
    assert not link.is_symlink()
    assert ("systemctl", "--user", "disable", "--now", "jobmon-1.timer") in systemd.asked


def test_the_files_are_removed_even_if_systemd_does_not_answer(units: UserUnits, folder: Path) -> None:
    units.install(FILES)
    switch_on(folder)
    UserUnits(folder, FakeRunner()).remove(NAMES)
    assert not units.has_any(NAMES)


def test_the_error_of_systemd_reaches_the_user(folder: Path) -> None:
    error = "Failed to connect to bus: No medium found"
    runner = FakeRunner().on("systemctl", answers=[said(stderr=error, exit_code=1)])
    units = UserUnits(folder, runner)
    assert units.unavailable_because() == f"systemctl: {error}"
    with pytest.raises(AutostartUnavailable, match=error):
        units.install(FILES)


def test_a_folder_that_cannot_be_written_is_reported(systemd: FakeRunner) -> None:
    with pytest.raises(AutostartUnavailable, match="cannot write"):
        UserUnits(Path("/proc/nowhere"), systemd).install(FILES)
