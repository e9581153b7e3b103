"""`jobmon recover --install` and `--uninstall`: changes are shown first, made once, and undone exactly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon.commands.autostart import status_line
from jobmon_core.domain.many.autostart.command import AutostartMethod, MethodStatus
from tests.support import fake_crontab
from tests.support.cron_daemon import cron_daemon
from tests.support.processes import kill
from tests.support.shell import Shell, complaint
from tests.support.waiting import PATIENCE_S, eventually

USERS_OWN = "MAILTO=me\n0 1 * * * backup # nightly\n"


@pytest.fixture
def table(shell: Shell) -> Iterator[Path]:
    """The user's crontab, which has an entry already, and a cron daemon that reads it."""
    path = shell.work / "table"
    path.write_text(USERS_OWN, encoding="utf-8")
    shell.program("crontab", f'exec {sys.executable} {fake_crontab.__file__} {path} "$@"')
    with cron_daemon(shell.work):
        yield path


def install(shell: Shell, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return shell.jobmon("recover", *arguments, **environment)


def test_the_shown_lines_are_those_installed_and_removed(shell: Shell, table: Path) -> None:
    done = install(shell, "--install", "--yes", SLURM_CONF="/etc/slurm/two.conf")
    assert (done.returncode, done.stderr) == (0, "")
    installed = [line for line in table.read_text().splitlines() if line not in USERS_OWN.splitlines()]
    assert [line.split()[0] for line in installed] == ["@reboot", "*/10"]
    for line in installed:
        assert f"\n  {line}\n" in done.stdout
        assert f" JOBMON_HOME={shell.home} SLURM_CONF=/etc/slurm/two.conf " in line
    done = install(shell, "--uninstall", "--yes")
    assert all(f"\n  {line}\n" in done.stdout for line in installed)
    assert table.read_text() == USERS_OWN


def test_installing_and_uninstalling_are_idempotent(shell: Shell, table: Path) -> None:
    install(shell, "--install", "--yes")
    once = table.read_bytes()
    done = install(shell, "--install", "--yes")
    assert "already installed with cron; nothing was changed" in done.stdout
    assert table.read_bytes() == once
    install(shell, "--uninstall", "--yes")
    done = install(shell, "--uninstall", "--yes")
    assert (done.returncode, done.stdout) == (0, "nothing is installed; nothing was changed\n")


@pytest.mark.parametrize("verb", ["--install", "--uninstall"])
def test_without_a_terminal_nothing_is_changed(shell: Shell, table: Path, verb: str) -> None:
    if verb == "--uninstall":
        install(shell, "--install", "--yes")
    before = table.read_bytes()
    done = install(shell, verb)
    assert done.returncode == 1
    assert (
        done.stderr
        == "jobmon: nothing was changed: stdin is not a terminal; use --yes to apply the changes\n"
    )
    assert "@reboot" in done.stdout
    assert table.read_bytes() == before


@pytest.mark.parametrize(("answer", "changed"), [("y\n", True), ("\n", False), ("no\n", False)])
def test_on_a_terminal_it_asks(shell: Shell, table: Path, answer: str, *, changed: bool) -> None:
    keyboard, terminal = os.openpty()
    try:
        os.write(keyboard, answer.encode())
        done = shell.line(f"jobmon recover --install < {os.ttyname(terminal)}")
    finally:
        os.close(keyboard)
        os.close(terminal)
    assert "apply these changes? [y/N] " in done.stderr
    assert (table.read_text() != USERS_OWN) is changed
    assert done.returncode == (0 if changed else 1)


def test_the_line_runs_jobmon_without_the_users_environment(shell: Shell, table: Path) -> None:
    squeue = shell.work / "opt" / "slurm"
    squeue.mkdir(parents=True)
    (squeue / "squeue").symlink_to(shell.programs / "crontab")
    install(shell, "--install", "--yes", PATH=f"{squeue}:{shell.programs}")
    line = table.read_text().splitlines()[1].removeprefix("*/10 * * * * ")
    assert f" PATH={squeue}:/usr/local/bin:/usr/bin:/bin " in line
    assert " recover --quiet # " in line
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        env={},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (shell.state / "monitors" / "recover.lock").exists()


def killed_monitor(shell: Shell) -> None:
    """Leave a running job of the local scheduler whose monitor was killed."""
    config = shell.home / "config.json"
    config.write_text(json.dumps({"poll": {"running_s": 5, "pending_s": 5}}))
    config.chmod(0o600)
    (shell.work / "job.sh").write_text("#!/bin/bash\nuntil [ -e go ]; do read -rt 0.5 <> <(:); done\n")
    done = shell.jobmon("submit", "--backend", "local", "job.sh")
    assert done.returncode == 0, done
    (owner,) = (shell.state / "monitors").glob("*.owner")
    kill(json.loads(owner.read_text())["pid"])
    eventually(lambda: '"dead"' in shell.jobmon("status", "--json").stdout)


def test_the_line_restarts_a_killed_monitor_and_reports_it_once(shell: Shell, table: Path) -> None:
    killed_monitor(shell)
    install(shell, "--install", "--yes")
    line = table.read_text().splitlines()[1].removeprefix("*/10 * * * * ")
    said = [subprocess.check_output(["/bin/sh", "-c", line], env={}, cwd="/", text=True) for _ in range(2)]
    (shell.work / "go").touch()
    assert "its monitor was dead; restarted" in said[0]
    assert said[1] == ""
    eventually(lambda: "nothing to do" in install(shell).stdout)


def test_in_a_slurm_job_recover_ends_when_its_monitors_end(shell: Shell) -> None:
    killed_monitor(shell)
    with subprocess.Popen(
        [sys.executable, "-m", "jobmon", "recover", "--quiet", "--stay"], stdout=subprocess.PIPE, text=True
    ) as staying:
        assert staying.stdout is not None
        line, ended = staying.stdout.readline(), staying.poll() is not None
        (shell.work / "go").touch()
        assert "its monitor was dead; restarted" in line
        assert not ended
        assert staying.wait(PATIENCE_S) == 0
    assert install(shell).stdout == "nothing to do: no jobs are being watched\n"


def test_a_timer_of_systemd_is_offered_where_it_answers(shell: Shell) -> None:
    shell.program("systemctl", f'echo "$@" >> {shell.work}/asked')
    done = install(shell, "--install", "systemd", "--yes", XDG_CONFIG_HOME=f"{shell.work}/config")
    assert done.returncode == 0, done
    assert "systemd   yes" in done.stdout
    assert "`loginctl enable-linger`" in done.stdout
    units = sorted((shell.work / "config/systemd/user").glob("jobmon-*"))
    assert [unit.suffix for unit in units] == [".service", ".timer"]
    assert all(f"  {line}\n" in done.stdout for unit in units for line in unit.read_text().splitlines())
    assert f"--user enable --now {units[1].name}" in (shell.work / "asked").read_text()
    install(shell, "--uninstall", "--yes", XDG_CONFIG_HOME=f"{shell.work}/config")
    assert not any(unit.exists() for unit in units)


def test_scrontab_is_offered_where_the_site_has_it(shell: Shell) -> None:
    table = shell.work / "slurm-table"
    shell.program("scrontab", f'exec {sys.executable} {fake_crontab.__file__} {table} "$@"')
    done = install(shell, "--install", "--yes")
    assert "  cron      no: crontab: not found on PATH" in done.stdout
    assert table.read_text().startswith("#SCRON --job-name=jobmon-")
    assert " recover --quiet --stay # " in table.read_text()
    install(shell, "--uninstall", "--yes")
    assert not table.exists()


def test_a_machine_without_any_method_gives_the_reason_for_each(shell: Shell) -> None:
    done = install(shell, "--install", "--yes")
    assert done.returncode == 1
    message = complaint(done)
    for program in ("crontab", "systemctl", "scrontab"):
        assert f"{program}: not found on PATH" in message


def test_the_list_says_why_a_method_is_not_usable_and_whether_it_is_installed() -> None:
    idle = MethodStatus(
        AutostartMethod.CRON, installed=True, never_runs_because="no cron daemon is running here"
    )
    assert status_line(idle) == "  cron      no: installed; no cron daemon is running here"
    limited = MethodStatus(AutostartMethod.SYSTEMD, warning="it stops when you log out")
    assert status_line(limited) == "  systemd   yes: it stops when you log out"
    missing = MethodStatus(
        AutostartMethod.SCRONTAB, "scrontab: not found on PATH", warning="it runs as a job"
    )
    assert status_line(missing) == "  scrontab  no: scrontab: not found on PATH"


def test_an_unavailable_method_is_refused_with_its_reason(shell: Shell, table: Path) -> None:
    done = install(shell, "--install", "scrontab", "--yes")
    assert done.returncode == 1
    assert complaint(done) == "scrontab cannot be used here: scrontab: not found on PATH"
    assert table.read_text() == USERS_OWN


def test_a_secret_is_named_and_not_written(shell: Shell, table: Path) -> None:
    done = install(shell, "--install", "--yes", HTTPS_PROXY="http://me:hunter2@proxy:3128")
    assert "$HTTPS_PROXY is a secret and is not stored" in done.stderr
    assert "hunter2" not in table.read_text() + done.stdout + done.stderr


def test_quiet_recover_prints_nothing_if_nothing_was_done(shell: Shell) -> None:
    assert install(shell, "--quiet").stdout == ""
    (shell.state / "slurm-1-20260101T000000.json").write_text("damaged", encoding="utf-8")
    assert "skipped" in install(shell).stdout
    done = install(shell, "--quiet", "--stay")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "arguments", ["--install pbs", "--install --uninstall", "--yes", "--install --stay", "--install --quiet"]
)
def test_invalid_combinations_are_refused_in_one_line(shell: Shell, table: Path, arguments: str) -> None:
    done = install(shell, *arguments.split())
    assert done.returncode == 2
    assert complaint(done)
    assert table.read_text() == USERS_OWN
