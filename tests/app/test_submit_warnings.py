from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.app.submit_warnings import take_warning, warning_in_job
from jobmon_core.host.logind import Logind
from jobmon_core.store.home import Home

SESSION = "0::/user.slice/user-1000.slice/session-3.scope\n"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The root of a machine where this process is in a login session whose processes are killed at logout."""
    root = tmp_path / "machine"
    write(root / "proc/self/cgroup", SESSION)
    write(root / "etc/systemd/logind.conf", "[Login]\nKillUserProcesses=yes\n")
    return root


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_a_machine_without_systemd_gives_no_warning(tmp_path: Path, home: Home) -> None:
    assert take_warning(home, "me", Logind(tmp_path)) == ""


def test_the_warning_is_printed_once_with_a_remedy(machine: Path, home: Home) -> None:
    text = take_warning(home, "me", Logind(machine))
    assert "KillUserProcesses" in text
    assert "`jobmon recover --install systemd`" in text
    assert "`loginctl enable-linger`" in text
    assert take_warning(home, "me", Logind(machine)) == ""


def test_a_process_outside_a_session_gets_no_warning_and_does_not_use_it_up(
    machine: Path, home: Home
) -> None:
    write(machine / "proc/self/cgroup", "0::/system.slice/cron.service\n")
    assert take_warning(home, "me", Logind(machine)) == ""
    write(machine / "proc/self/cgroup", SESSION)
    assert take_warning(home, "me", Logind(machine)) != ""


def test_inside_a_slurm_job_each_submission_is_warned(machine: Path) -> None:
    assert warning_in_job("12", Logind(machine)) == ""
    write(machine / "proc/self/cgroup", "0::/system.slice/slurmstepd.scope/job_7/step_batch/user/task_0\n")
    for _ in range(2):
        text = warning_in_job("12", Logind(machine))
        assert "the monitor of job 12" in text
        assert "`jobmon recover` on a login node" in text
        assert "`jobmon submit --sentinel`" in text
