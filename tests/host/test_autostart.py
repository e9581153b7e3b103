from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobmon_core.domain.many.autostart.command import AutostartUnavailable
from jobmon_core.host.autostart import Crontab, UserUnits, cron_runs
from jobmon_core.system.runner import Runner, succeeded
from tests.support import fake_crontab
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


SPOOL = "/var/spool/cron/crontabs"
REAL = Path("/usr/bin/crontab")
USERS_OWN = "# m h dom mon dow command\nMAILTO=me\n0 1 * * *\tbackup --at '\\%H' # nightly \n\n@daily x"


@pytest.fixture(params=["fake", "real"])
def runner(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """Runs a crontab program with a table of this test: the machine's program in isolation, or a fake one."""
    programs = tmp_path / "bin"
    programs.mkdir()
    if request.param == "fake":
        line = f'exec {sys.executable} {fake_crontab.__file__} {tmp_path}/table "$@"'
    else:
        line = _isolated(tmp_path / "spool")
    (programs / "crontab").write_text(f"#!/bin/bash\n{line}\n", encoding="utf-8")
    (programs / "crontab").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return Runner()


def _isolated(spool: Path) -> str:
    """Return a bash command that runs the machine's crontab program with its own spool folder."""
    if not REAL.exists():
        pytest.skip("this machine has no crontab")
    spool.mkdir()
    isolating = ["unshare", "--mount", "mount", "--bind", str(spool), SPOOL]
    if os.getuid() or subprocess.run(isolating, check=False, capture_output=True).returncode:
        pytest.skip("the crontab program cannot be isolated here, and tests must not use the user's crontab")
    return f'exec unshare --mount bash -c \'mount --bind {spool} {SPOOL} && exec {REAL} "$@"\' crontab "$@"'


def test_a_user_without_a_crontab_has_an_empty_one(runner: Runner) -> None:
    assert Crontab("crontab", runner).read() == ""


def test_a_written_crontab_is_read_back_byte_for_byte(runner: Runner) -> None:
    crontab = Crontab("crontab", runner)
    text = f"{USERS_OWN}é\n"
    assert crontab.change(lambda _: text)
    assert crontab.read() == text
    assert not crontab.change(lambda same: same)


def test_removing_the_last_line_removes_the_crontab(runner: Runner) -> None:
    crontab = Crontab("crontab", runner)
    crontab.change(lambda _: "0 1 * * * backup\n")
    assert crontab.change(lambda _: "")
    assert not succeeded(runner.capture(("crontab", "-l"), 60.0))


def test_a_refused_change_raises_the_programs_error_and_changes_nothing(runner: Runner) -> None:
    crontab = Crontab("crontab", runner)
    crontab.change(lambda _: "0 1 * * * backup\n")
    with pytest.raises(AutostartUnavailable, match=r"crontab: .*newline before EOF"):
        crontab.change(lambda text: f"{text}0 2 * * * cut off")
    assert crontab.read() == "0 1 * * * backup\n"


@pytest.mark.parametrize(
    "error",
    [
        "You (me) are not allowed to use this program (crontab)",
        "scrontab: error: scrontab is disabled on this cluster",
        "crontabs/me/: fopen: Permission denied",
    ],
)
def test_a_crontab_that_cannot_be_read_is_not_taken_as_empty(error: str) -> None:
    runner = FakeRunner().on("crontab", "-l", answers=[said(stderr=error, exit_code=1)])
    with pytest.raises(AutostartUnavailable):
        Crontab("crontab", runner).change(lambda text: f"{text}x\n")
    assert runner.asked == [("crontab", "-l")]


def test_a_crontab_that_is_not_utf8_is_not_changed() -> None:
    runner = FakeRunner().on("crontab", "-l", answers=[said("0 1 * * * caf\ufffd\n")])
    with pytest.raises(AutostartUnavailable, match="not UTF-8"):
        Crontab("crontab", runner).change(lambda text: f"x\n{text}")


def test_a_missing_program_is_reported() -> None:
    with pytest.raises(AutostartUnavailable, match="scrontab: not found on PATH"):
        Crontab("scrontab", FakeRunner()).read()


@pytest.mark.parametrize(("names", "runs"), [(["systemd", "crond"], True), (["systemd"], False), ([], True)])
def test_a_cron_daemon_is_recognized_among_the_processes(
    tmp_path: Path, names: list[str], *, runs: bool
) -> None:
    for number, name in enumerate(names, 1):
        (tmp_path / "proc" / str(number)).mkdir(parents=True)
        (tmp_path / "proc" / str(number) / "comm").write_text(f"{name}\n", encoding="ascii")
    assert cron_runs(tmp_path) is runs
