"""Monitors that die, are told to go, or outlive their user's terminal: no message is lost, none doubled."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.lifecycle.health import Health
from jobmon_core.store.owner import STALE_AFTER_S, Owner, OwnerRecord
from tests.support.discord_answers import hang
from tests.support.told import facts, title
from tests.support.user import User
from tests.support.waiting import PATIENCE_S, eventually

_UNTIL_GO = "echo training; until [ -e go ]; do sleep 0.1; done; exit 5"


@pytest.fixture
def job_id(user: User) -> int:
    """A watched job that ends with exit code 5 as soon as `_let_go` is called."""
    return user.submit("-J", "train", user.script(_UNTIL_GO))


def _let_go(user: User) -> None:
    (user.work / "go").touch()


def _kill(user: User, job_id: int) -> None:
    os.kill(user.monitor_pid(job_id), signal.SIGKILL)
    eventually(lambda: user.snapshot(job_id).health is Health.DEAD)


def _recover(user: User) -> str:
    done = user.jobmon("recover")
    assert done.returncode == 0, done
    assert done.stderr == ""
    return done.stdout


def _assert_told_once_of_exit_5(user: User, job_id: int) -> None:
    job = user.told(job_id)
    assert job.outcome is Outcome.FAILURE
    (payload,) = user.discord.received()
    assert user.discord.received(Route.ERROR) == [payload]
    assert f"train ({job_id})" in title(payload)
    assert facts(payload)["Exit code"].startswith("5")


def _monitors(user: User) -> list[int]:
    """Return the monitors of this user's home, without the children they have at this moment."""
    parents = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode().split("\0")
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if "jobmon_core.monitor.main" in words and str(user.home) in words:
            parents[int(process.name)] = int(parent)
    return [pid for pid, parent in parents.items() if parent not in parents]


def test_a_killed_monitor_is_shown_as_dead_with_the_command_that_helps(user: User, job_id: int) -> None:
    _kill(user, job_id)
    done = user.jobmon("status")
    assert re.search(rf"^{job_id} .* DEAD", done.stdout, re.MULTILINE)
    assert "`jobmon recover`" in done.stderr
    assert user.status(job_id)["monitor"] == "dead"


def test_a_recovered_job_is_followed_to_its_one_message(user: User, job_id: int) -> None:
    _kill(user, job_id)
    assert "its monitor was gone; watched again" in _recover(user)
    assert user.snapshot(job_id).health is Health.ALIVE
    _let_go(user)
    _assert_told_once_of_exit_5(user, job_id)


def test_a_job_that_ended_while_nobody_watched_is_told_once(user: User, job_id: int) -> None:
    user.watched_as(job_id, "RUNNING")
    _kill(user, job_id)
    _let_go(user)
    user.in_state(job_id, "FAILED")
    _recover(user)
    _assert_told_once_of_exit_5(user, job_id)
    assert _recover(user) == "nothing to do: no job is being watched\n"
    assert len(user.discord.attempts) == 1


@pytest.mark.parametrize("arrived", [False, True])
def test_a_delivery_that_was_cut_off_is_repeated_and_marked(user: User, *, arrived: bool) -> None:
    user.discord.script(hang(saves=arrived))
    job_id = user.submit("--wrap", "exit 5", "-J", "train")
    user.discord.wait_for_attempts(1)
    _kill(user, job_id)
    _recover(user)
    user.told(job_id)
    *first, last = user.discord.received()
    assert len(first) == arrived
    assert all("repeat" not in str(payload) for payload in first)
    assert "repeat" in str(last)
    assert facts(last)["Exit code"].startswith("5")


def test_recovering_twice_changes_nothing(user: User, job_id: int) -> None:
    user.watched_as(job_id, "RUNNING")
    _kill(user, job_id)
    _recover(user)
    pid = user.monitor_pid(job_id)
    assert f"left alone: monitor {pid} on" in _recover(user)
    assert user.monitor_pid(job_id) == pid
    assert _monitors(user) == [pid]
    _let_go(user)
    _assert_told_once_of_exit_5(user, job_id)


def test_two_recoveries_at_once_start_one_monitor(user: User) -> None:
    script = user.script(_UNTIL_GO)
    jobs = [user.submit("-J", "train", script) for _ in range(3)]
    for job_id in jobs:
        _kill(user, job_id)
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
    said = [process.communicate(timeout=PATIENCE_S) for process in both]
    assert sum(out.count("watched again") for out, _ in said) == 3, said
    assert {user.monitor_pid(job_id) for job_id in jobs} == set(_monitors(user))
    assert len(_monitors(user)) == 1


def test_one_process_adopts_all_orphans_and_the_living_are_left_alone(user: User) -> None:
    script = user.script(_UNTIL_GO)
    lively, *orphans = [user.submit("-J", "train", script) for _ in range(4)]
    before = user.monitor_pid(lively)
    for job_id in orphans:
        _kill(user, job_id)
    told = _recover(user)
    assert told.count("watched again") == 3
    assert f"left alone: monitor {before} on" in told
    assert user.monitor_pid(lively) == before
    (adopter,) = {user.monitor_pid(job_id) for job_id in orphans}
    assert sorted(_monitors(user)) == sorted((before, adopter))
    _let_go(user)
    for job_id in (lively, *orphans):
        assert user.told(job_id).outcome is Outcome.FAILURE
    assert len(user.discord.received()) == 4
    eventually(lambda: _monitors(user) == [])


def test_a_cancelled_watch_leaves_the_job_alone_and_says_so(user: User, job_id: int) -> None:
    user.in_state(job_id, "RUNNING")
    done = user.jobmon("cancel", str(job_id))
    assert (done.returncode, done.stderr) == (0, "")
    assert f"no longer watched; the job itself is untouched (scancel {job_id} would end it)" in done.stdout
    assert _monitors(user) == []
    assert user.status(job_id)["monitor"] == "done"
    _let_go(user)
    user.in_state(job_id, "FAILED")
    assert _recover(user) == "nothing to do: no job is being watched\n"
    assert user.discord.attempts == []


def test_a_watch_whose_monitor_is_dead_can_be_cancelled(user: User, job_id: int) -> None:
    _kill(user, job_id)
    assert "no longer watched" in user.jobmon("cancel", str(job_id)).stdout
    assert user.status(job_id)["monitor"] == "done"
    _recover(user)
    assert _monitors(user) == []


def test_what_is_not_watched_can_not_be_cancelled(user: User, job_id: int) -> None:
    assert user.jobmon("cancel", str(job_id)).returncode == 0
    for again in (str(job_id), "1"):
        done = user.jobmon("cancel", again)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"jobmon: job {again} is not watched; `jobmon status` lists what is\n"


def test_one_bad_id_keeps_no_other_job_from_being_cancelled(user: User, job_id: int) -> None:
    done = user.jobmon("cancel", "1", str(job_id))
    assert done.returncode == 1
    assert f"{job_id}" in done.stdout
    assert _monitors(user) == []


def test_a_monitor_that_is_busy_is_said_to_stop_later(user: User) -> None:
    user.discord.script(hang())
    job_id = user.submit("--wrap", "exit 5")
    user.discord.wait_for_attempts(1)
    pid = user.monitor_pid(job_id)
    done = user.jobmon("cancel", str(job_id))
    assert f"monitor {pid} on {os.uname().nodename} was asked to stop" in done.stdout
    user.told(job_id)
    assert user.discord.received() == []


def test_a_reboot_is_told_from_a_life_that_goes_on_with_the_same_pid(user: User, job_id: int) -> None:
    _kill(user, job_id)
    _claim(user, job_id, replace(Owner.this_process(), boot_id="that of another boot"))
    assert user.status(job_id)["monitor"] == "dead"
    assert "its monitor was gone; watched again" in _recover(user)
    _let_go(user)
    _assert_told_once_of_exit_5(user, job_id)


def test_a_monitor_on_another_host_is_left_alone_until_it_is_silent_for_long(user: User, job_id: int) -> None:
    _kill(user, job_id)
    path = _claim(user, job_id, replace(Owner.this_process(), host="login2"))
    assert user.status(job_id)["monitor"] == "elsewhere"
    assert "on login2 is alive elsewhere" in _recover(user)
    long_ago_s = path.stat().st_mtime - STALE_AFTER_S - 60
    os.utime(path, (long_ago_s, long_ago_s))
    assert user.status(job_id)["monitor"] == "stale"
    assert "on login2 gave no sign for long; watched again, from here" in _recover(user)
    assert user.snapshot(job_id).health is Health.ALIVE


def _claim(user: User, job_id: int, owner: Owner) -> Path:
    """Name somebody else as the owner of a job."""
    path = user.home / "state" / "monitors" / f"{user.job(job_id).id}.owner"
    OwnerRecord(path).write(owner)
    return path


def test_a_monitor_that_is_asked_to_end_can_be_brought_back(user: User, job_id: int) -> None:
    os.kill(user.monitor_pid(job_id), signal.SIGTERM)
    eventually(lambda: user.snapshot(job_id).health is Health.DEAD)
    assert "`jobmon recover`" in user.jobmon("logs", str(job_id)).stdout
    _recover(user)
    _let_go(user)
    _assert_told_once_of_exit_5(user, job_id)


def test_a_second_monitor_is_refused_and_the_first_one_named(user: User, job_id: int) -> None:
    pid = user.monitor_pid(job_id)
    done = user.jobmon("watch", str(job_id))
    assert done.returncode == 1
    assert f"job {job_id} is watched already by monitor {pid} on" in done.stderr
    _kill(user, job_id)
    done = user.jobmon("watch", str(job_id))
    assert done.returncode == 1
    assert done.stderr == f"jobmon: the monitor of job {job_id} is DEAD; `jobmon recover` restarts it\n"
    assert _monitors(user) == []


def test_a_hangup_does_not_end_a_monitor(user: User, job_id: int) -> None:
    pid = user.monitor_pid(job_id)
    os.kill(pid, signal.SIGHUP)
    _let_go(user)
    _assert_told_once_of_exit_5(user, job_id)


def test_a_monitor_outlives_the_terminal_it_was_started_from(user: User) -> None:
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
        session.kill()  # the terminal is gone: the kernel hangs up on all that it controls
    (job_id,) = map(int, re.findall(r"Submitted batch job (\d+)", screen.read_text()))
    pid = user.monitor_pid(job_id)
    _let_go(user)
    _assert_told_once_of_exit_5(user, job_id)
    eventually(lambda: not Path(f"/proc/{pid}").exists())


def _held(process: Path) -> list[tuple[str, str]]:
    """What a process holds open; a descriptor that it closes while we look is not held."""
    held = []
    for descriptor in (process / "fd").iterdir():
        with suppress(FileNotFoundError):
            held.append((descriptor.name, str(descriptor.readlink())))
    return sorted(held)


def test_a_monitor_has_no_terminal_and_holds_nothing_of_its_caller(user: User) -> None:
    user.script(_UNTIL_GO)
    (user.work / "held").touch()
    line = f"exec 7<held 8>other; {sys.executable} -m jobmon submit job.sh"
    done = user.run("bash", "-c", line)
    job_id = int(done.stdout.split()[-1])
    process = Path(f"/proc/{user.monitor_pid(job_id)}")
    session, terminal = (process / "stat").read_text().rpartition(")")[2].split()[3:5]
    assert terminal == "0"
    assert session not in (process.name, str(os.getsid(0)))  # nor can it ever get one
    log = str(user.home / "logs" / f"{user.job(job_id).id}.log")
    lock = str(user.home / "state" / "monitors" / f"{user.job(job_id).id}.lock")
    (slot,) = (user.home / "state" / "monitors" / "slots").iterdir()
    expected = [("0", "/dev/null"), ("1", log), ("2", log), ("3", lock), ("4", str(slot))]
    # what it reads at this moment is no inheritance, and is not held
    eventually(lambda: _held(process) == expected)
    assert (process / "cwd").readlink() == user.home / "state"
