"""A full disk: jobs are submitted nevertheless, and no recorded state is lost."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator

import pytest

from tests.support.disk import SmallDisk, small_disk
from tests.support.failing_job import UNTIL_GO, assert_failed_and_told_once, kill, let_go
from tests.support.files import contents
from tests.support.user import User
from tests.support.waiting import eventually


@pytest.fixture
def disk(user: User) -> Iterator[SmallDisk]:
    """A file system of one megabyte, mounted at the user's home."""
    with small_disk(user.home, "1m") as disk:
        user.configure()
        yield disk
        user.leave()


def test_with_a_full_disk_a_job_is_submitted_and_can_be_watched_later(user: User, disk: SmallDisk) -> None:
    disk.fill()
    done = user.jobmon("submit", "--wrap", "exit 5")
    assert done.returncode == 0
    job_id = int(done.stdout.removeprefix("Submitted batch job "))
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"jobmon: job {job_id} is submitted, but not watched: {user.home}/state/")
    assert line.endswith(f"No space left on device; `jobmon watch {job_id}` tries again")
    lacking = user.jobmon("submit", "--restart", "--wrap", "exit 0").stderr.splitlines()[-1]
    assert lacking.endswith(" tries again, without restarts")
    assert list((user.home / "state").glob("*.json")) == []
    disk.free()
    assert user.jobmon("watch", str(job_id)).returncode == 0
    assert_failed_and_told_once(user, job_id)


def test_a_disk_that_fills_up_only_delays_the_message(user: User, disk: SmallDisk) -> None:
    job_id = user.submit(user.script(UNTIL_GO))
    user.watched_as(job_id, "RUNNING")
    pid = user.monitor_pid(job_id)
    disk.fill()
    let_go(user)
    user.in_state(job_id, "FAILED")
    heartbeat = user.home / "state" / "monitors" / f"{user.job(job_id).id}.owner"
    for _ in range(2):
        last = heartbeat.stat().st_mtime_ns
        os.kill(pid, signal.SIGUSR1)
        eventually(lambda last=last: heartbeat.stat().st_mtime_ns > last)  # type: ignore[misc]
    assert user.status(job_id)["monitor"] == "alive"
    assert user.discord.attempts == []
    eventually(
        lambda: not [path for path in contents(user.home) if path.suffix == ".tmp"]
    )  # it may be writing
    disk.free()
    os.kill(pid, signal.SIGUSR1)
    assert_failed_and_told_once(user, job_id)


def test_a_monitor_is_recovered_when_the_disk_has_room_again(user: User, disk: SmallDisk) -> None:
    job_id = user.submit(user.script(UNTIL_GO))
    user.watched_as(job_id, "RUNNING")
    kill(user, job_id)
    disk.fill()
    done = user.jobmon("recover")
    assert (done.returncode, done.stdout) == (74, "")
    assert re.fullmatch(
        r"jobmon: .*/state/monitors/.* cannot be written: No space left on device\n", done.stderr
    )
    assert user.status(job_id)["monitor"] == "dead"
    disk.free()
    assert "its monitor was dead; restarted" in user.jobmon("recover").stdout
    let_go(user)
    assert_failed_and_told_once(user, job_id)
