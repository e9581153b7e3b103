"""Monitors that die, are terminated or outlive their terminal: no message is lost or duplicated."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.lifecycle.health import Health
from jobmon_core.store.owner import STALE_AFTER_S, Owner, OwnerRecord
from tests.support.discord_answers import hang
from tests.support.failing_job import kill, let_go
from tests.support.files import contents, open_files
from tests.support.messages import facts, title
from tests.support.processes import is_running, monitors_of
from tests.support.user import User
from tests.support.waiting import PATIENCE_S, eventually

_UNTIL_GO = "echo training; until [ -e go ]; do sleep 0.5; done; exit 5"


@pytest.fixture
def job_id(user: User) -> int:
    """A watched job that ends with exit code 5 once `let_go` is called."""
    return user.submit("-J", "train", user.script(_UNTIL_GO))


def _recover(user: User) -> str:
    done = user.jobmon("recover")
    assert done.returncode == 0, done
    assert done.stderr == ""
    return done.stdout


def _assert_exit_5_reported_once(user: User, job_id: int) -> None:
    job = user.told(job_id)
    assert job.outcome is Outcome.FAILURE
    (payload,) = user.discord.received()
    assert user.discord.received(Route.ERROR) == [payload]
    assert f"train ({job_id})" in title(payload)
    assert facts(payload)["Exit code"].startswith("5")


def test_a_killed_monitor_is_shown_as_dead_with_the_recover_command(user: User, job_id: int) -> None:
    kill(user, job_id)
    done = user.jobmon("status")
    assert re.search(rf"^{job_id} .* DEAD", done.stdout, re.MULTILINE)
    assert "`jobmon recover`" in done.stderr
    assert user.status(job_id)["monitor"] == "dead"


def test_a_recovered_job_is_watched_until_its_message(user: User, job_id: int) -> None:
    kill(user, job_id)
    assert "its monitor was dead; restarted" in _recover(user)
    assert user.snapshot(job_id).health is Health.ALIVE
    let_go(user)
    _assert_exit_5_reported_once(user, job_id)


def test_a_job_that_ended_unwatched_is_reported_once(user: User, job_id: int) -> None:
    user.watched_as(job_id, "RUNNING")
    kill(user, job_id)
    let_go(user)
    user.in_state(job_id, "FAILED")
    _recover(user)
    _assert_exit_5_reported_once(user, job_id)
    assert _recover(user) == "nothing to do: no jobs are being watched\n"
    assert len(user.discord.attempts) == 1


@pytest.mark.parametrize("arrived", [False, True])
def test_an_interrupted_delivery_is_repeated_and_marked(user: User, *, arrived: bool) -> None:
    user.discord.script(hang(saves=arrived))
    job_id = user.submit("--wrap", "exit 5", "-J", "train")
    user.discord.wait_for_attempts(1)
    kill(user, job_id)
    _recover(user)
    user.told(job_id)
    *first, last = user.discord.received()
    assert len(first) == arrived
    assert all("repeat" not in str(payload) for payload in first)
    assert "repeat" in str(last)
    assert facts(last)["Exit code"].startswith("5")


def test_a_second_recovery_changes_nothing(user: User, job_id: int) -> None:
    user.watched_as(job_id, "RUNNING")
    kill(user, job_id)
    _recover(user)
    pid = user.monitor_pid(job_id)
    assert _recover(user).startswith("nothing to do: 1 job is being watched on ")
    assert user.monitor_pid(job_id) == pid
    eventually(lambda: monitors_of(user.home) == {pid})  # the process that forked it ends
    let_go(user)
    _assert_exit_5_reported_once(user, job_id)


def test_two_recoveries_at_once_start_one_monitor(user: User) -> None:
    script = user.script(_UNTIL_GO)
    jobs = [user.submit("-J", "train", script) for _ in range(3)]
    for job_id in jobs:
        kill(user, job_id)
    argv = (sys.executable, "-m", "jobmon", "recover")
    both = [
        subprocess.Popen(
            argv,
            cwd=user.work,
            env=user.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=PATIENCE_S) for process in both]
    assert sum(out.count("restarted") for out, _ in outputs) == 3, outputs
    (pid,) = {user.monitor_pid(job_id) for job_id in jobs}
    eventually(lambda: monitors_of(user.home) == {pid})


def test_one_monitor_adopts_all_orphans_and_live_monitors_keep_their_jobs(user: User) -> None:
    script = user.script(_UNTIL_GO)
    watched, *orphans = [user.submit("-J", "train", script) for _ in range(4)]
    before = user.monitor_pid(watched)
    for job_id in orphans:
        kill(user, job_id)
    output = _recover(user)
    assert output.count("restarted") == 3
    assert "\n1 other job is being watched on " in output
    assert user.monitor_pid(watched) == before
    (adopter,) = {user.monitor_pid(job_id) for job_id in orphans}
    eventually(lambda: monitors_of(user.home) == {before, adopter})
    let_go(user)
    for job_id in (watched, *orphans):
        assert user.told(job_id).outcome is Outcome.FAILURE
    assert len(user.discord.received()) == 4
    eventually(lambda: not monitors_of(user.home))


def test_cancelling_a_watch_does_not_touch_the_job(user: User, job_id: int) -> None:
    user.in_state(job_id, "RUNNING")
    done = user.jobmon("cancel", str(job_id))
    assert (done.returncode, done.stderr) == (0, "")
    assert f"no longer watched; the job itself is not touched (`scancel {job_id}` ends it)" in done.stdout
    eventually(lambda: not monitors_of(user.home))
    assert user.status(job_id)["monitor"] == "done"
    let_go(user)
    user.in_state(job_id, "FAILED")
    assert _recover(user) == "nothing to do: no jobs are being watched\n"
    assert user.discord.attempts == []


def test_a_watch_whose_monitor_is_dead_can_be_cancelled(user: User, job_id: int) -> None:
    kill(user, job_id)
    assert "no longer watched" in user.jobmon("cancel", str(job_id)).stdout
    assert user.status(job_id)["monitor"] == "done"
    _recover(user)
    eventually(lambda: not monitors_of(user.home))


def test_a_job_that_is_not_watched_cannot_be_cancelled(user: User, job_id: int) -> None:
    assert user.jobmon("cancel", str(job_id)).returncode == 0
    for again, words in (
        (str(job_id), "its monitoring was stopped before; nothing was changed\n"),
        ("1", "job 1 is not watched; `jobmon status` lists the watched jobs\n"),
    ):
        done = user.jobmon("cancel", again)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.endswith(words)


def test_one_bad_id_does_not_prevent_cancelling_other_watches(user: User, job_id: int) -> None:
    done = user.jobmon("cancel", "1", str(job_id))
    assert done.returncode == 1
    assert f"{job_id}" in done.stdout
    eventually(lambda: not monitors_of(user.home))


def test_a_busy_monitor_is_reported_to_stop_later(user: User) -> None:
    user.discord.script(hang())
    job_id = user.submit("--wrap", "exit 5")
    user.discord.wait_for_attempts(1)
    pid = user.monitor_pid(job_id)
    os.kill(pid, signal.SIGSTOP)
    done = user.jobmon("cancel", str(job_id))
    os.kill(pid, signal.SIGCONT)
    assert f"monitor {pid} on {os.uname().nodename} will stop watching" in done.stdout
    user.told(job_id)
    assert user.discord.received() == []


def test_a_monitor_from_before_a_reboot_is_dead_even_if_its_pid_exists(user: User, job_id: int) -> None:
    kill(user, job_id)
    _write_owner(user, job_id, replace(Owner.this_process(), boot_id="that of another boot"))
    assert user.status(job_id)["monitor"] == "dead"
    assert "its monitor was dead; restarted" in _recover(user)
    let_go(user)
    _assert_exit_5_reported_once(user, job_id)


def test_a_monitor_on_another_host_keeps_its_job_until_it_is_stale(user: User, job_id: int) -> None:
    kill(user, job_id)
    path = _write_owner(user, job_id, replace(Owner.this_process(), host="login2"))
    assert user.status(job_id)["monitor"] == "elsewhere"
    assert _recover(user) == "nothing to do: 1 job is being watched on login2\n"
    long_ago_s = path.stat().st_mtime - STALE_AFTER_S - 60
    os.utime(path, (long_ago_s, long_ago_s))
    assert user.status(job_id)["monitor"] == "stale"
    assert "on login2 has been silent for too long; restarted on this host" in _recover(user)
    assert user.snapshot(job_id).health is Health.ALIVE


def _write_owner(user: User, job_id: int, owner: Owner) -> Path:
    """Write another owner of a job."""
    path = user.home / "state" / "monitors" / f"{user.job(job_id).id}.owner"
    OwnerRecord(path).write(owner)
    return path


def test_a_terminated_monitor_can_be_recovered(user: User, job_id: int) -> None:
    os.kill(user.monitor_pid(job_id), signal.SIGTERM)
    eventually(lambda: user.snapshot(job_id).health is Health.DEAD)
    assert "`jobmon recover`" in user.jobmon("logs", str(job_id), "--monitor").stdout
    _recover(user)
    let_go(user)
    _assert_exit_5_reported_once(user, job_id)


def test_a_second_monitor_is_refused_with_the_pid_of_the_first(user: User, job_id: int) -> None:
    pid = user.monitor_pid(job_id)
    done = user.jobmon("watch", str(job_id))
    assert done.returncode == 1
    assert f"job {job_id} is already watched by monitor {pid} on" in done.stderr
    kill(user, job_id)
    done = user.jobmon("watch", str(job_id))
    assert done.returncode == 1
    assert done.stderr == f"jobmon: the monitor of job {job_id} is dead; `jobmon recover` restarts it\n"
    eventually(lambda: not monitors_of(user.home))


def test_a_hangup_does_not_end_a_monitor(user: User, job_id: int) -> None:
    pid = user.monitor_pid(job_id)
    os.kill(pid, signal.SIGHUP)
    let_go(user)
    _assert_exit_5_reported_once(user, job_id)


def test_a_monitor_survives_the_end_of_its_terminal(user: User) -> None:
    user.script(_UNTIL_GO)
    shell = f"{sys.executable} -m jobmon submit -J train job.sh; exec cat"
    terminal = (sys.executable, "-c", "import pty, sys; pty.spawn(sys.argv[1:])", "bash", "-c", shell)
    screen = user.work / "screen"
    with (
        screen.open("wb") as output,
        subprocess.Popen(
            terminal, cwd=user.work, env=user.environment, stdin=subprocess.PIPE, stdout=output
        ) as session,
    ):
        eventually(lambda: "watching job" in screen.read_text())
        session.kill()  # closes the terminal, so the kernel sends SIGHUP
    (job_id,) = map(int, re.findall(r"Submitted batch job (\d+)", screen.read_text()))
    pid = user.monitor_pid(job_id)
    let_go(user)
    _assert_exit_5_reported_once(user, job_id)
    eventually(lambda: not is_running(pid))


def test_a_monitor_has_no_terminal_and_no_open_files_of_its_caller(user: User) -> None:
    user.script(_UNTIL_GO)
    (user.work / "held").touch()
    line = f"exec 7<held 8>other; {sys.executable} -m jobmon submit job.sh"
    done = user.run("bash", "-c", line)
    job_id = int(done.stdout.split()[-1])
    process = Path(f"/proc/{user.monitor_pid(job_id)}")
    session, terminal = (process / "stat").read_text().rpartition(")")[2].split()[3:5]
    assert terminal == "0"
    assert session not in (process.name, str(os.getsid(0)))  # and not a session leader, which could open one
    log = str(user.home / "logs" / f"{user.job(job_id).id}.log")
    lock = str(user.home / "state" / "monitors" / f"{user.job(job_id).id}.lock")
    (slot,) = contents(user.home / "state" / "monitors" / "slots")
    expected = sorted(["/dev/null", log, log, lock, str(slot)])
    # it may be reading a file at the moment
    eventually(lambda: open_files(int(process.name)) == expected)
    assert (process / "cwd").readlink() == user.home / "state"
