"""A sentinel on its node: when it waits for the monitor of its job, and when it takes over."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.lifecycle.health import Health, job_status
from jobmon_core.lifecycle.sentinel import Sentinel
from jobmon_core.store.home import Home
from jobmon_core.store.owner import STALE_AFTER_S, Owner
from jobmon_core.system.clock import Wake
from tests.support.clock import FakeClock
from tests.support.processes import python, said

JOB = WatchedJob("slurm-12-x", 12, 100.0)
PENDING = OutboxEntry(Message("m1", Route.ERROR, Tone.FAILURE, "it failed"))
LOGIN = replace(Owner.this_process(), host="login1", pid=71)
_HOLD = """
import fcntl, sys
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


class Node(FakeClock):
    """A node on which a sentinel runs; each of its waits ends at once, after a call of ``meanwhile``."""

    def __init__(self, home: Path, meanwhile: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self.ctx = Context(Home(home), {}, clock=self)
        self.logged: list[str] = []
        self.meanwhile = meanwhile

    def wait(self, seconds: float) -> Wake:
        self.meanwhile()
        return super().wait(seconds)

    def watched_by(self, owner: Owner, silent_s: float = 0.0) -> None:
        record = self.ctx.owner_record(JOB.id)
        record.write(owner)
        os.utime(record.path, (0, time.time() - silent_s))

    def sentinel(self, job: WatchedJob | None = JOB) -> int | None:
        if job:
            self.ctx.store.save(job)
        return Sentinel(self.ctx, JOB.id, self.logged.append).lock_to_take_over()


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (replace(JOB, unwatched_s=200.0), "`jobmon cancel` stopped the monitoring"),
        (replace(JOB, concluded_s=200.0), "all messages are delivered"),
        (
            replace(JOB, concluded_s=200.0, outbox=(replace(PENDING, given_up="404"),)),
            "1 message could not be delivered; `jobmon show 12` says why",
        ),
    ],
)
def test_a_sentinel_exits_at_once_if_the_job_is_done(tmp_path: Path, job: WatchedJob, words: str) -> None:
    node = Node(tmp_path)
    assert node.sentinel(job) is None
    assert node.logged == [f"nothing to do: {words}"]
    assert node.waits == []


def test_a_sentinel_waits_for_a_monitor_with_recent_heartbeats_and_logs_that_once(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.watched_by(LOGIN)
    node.wakes = [Wake.DUE, Wake.DUE, Wake.TERMINATE]
    assert node.sentinel() is None
    assert node.logged == [
        f"{LOGIN} sent a heartbeat recently; waiting until it has finished or sent none for 900 s",
        "terminated (SIGTERM) while monitor 71 on login1 has not finished",
    ]
    assert job_status(node.ctx, JOB).owner == LOGIN


def test_a_sentinel_takes_over_from_a_monitor_without_recent_heartbeats(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.watched_by(LOGIN)
    node.meanwhile = lambda: node.watched_by(LOGIN, STALE_AFTER_S + 1)
    lock = node.sentinel()
    assert lock is not None
    assert (
        node.logged[1]
        == "monitor 71 on login1 has sent no heartbeat for more than 900 s; this sentinel takes over"
    )
    found = job_status(node.ctx, JOB)
    assert (found.health, found.owner) == (Health.ALIVE, Owner.this_process())
    assert os.get_inheritable(lock)  # or the lock would be lost as the process becomes the monitor


def test_a_sentinel_repeats_no_message_that_was_sent_while_it_waited(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.watched_by(LOGIN)
    node.meanwhile = lambda: node.ctx.store.save(replace(JOB, concluded_s=200.0))
    assert node.sentinel() is None
    assert node.logged[-1] == "nothing to do: all messages are delivered"


def test_a_sentinel_waits_until_the_lock_of_the_job_is_free(tmp_path: Path) -> None:
    node = Node(tmp_path)
    with python(_HOLD, str(node.ctx.home.lock_file(JOB.id))) as holder:
        assert said(holder) == "held"

        def let_go() -> None:
            holder.kill()
            holder.wait()

        node.meanwhile = let_go
        assert node.sentinel() is not None
    assert node.logged == [
        "cannot take over: slurm-12-x is already watched",
        "its monitor is dead; this sentinel takes over",
    ]


def test_a_full_disk_delays_the_takeover(tmp_path: Path) -> None:
    node = Node(tmp_path)
    record = node.ctx.owner_record(JOB.id).path
    record.mkdir()  # nothing can be written there
    node.meanwhile = record.rmdir
    assert node.sentinel() is not None
    assert node.logged[0].startswith(f"cannot take over: {record} ")
    assert node.logged[1] == "its monitor is dead; this sentinel takes over"
    assert len(node.waits) == 1


def test_an_unreadable_state_is_logged_once_and_read_later(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.wakes = [Wake.DUE, Wake.DUE]

    def is_back() -> None:
        if len(node.waits) == 1:
            node.ctx.store.save(replace(JOB, concluded_s=200.0))

    node.meanwhile = is_back
    assert node.sentinel(None) is None
    assert "No such file" in node.logged[0]
    assert node.logged[0].endswith("; trying again")
    assert node.logged[1:] == ["nothing to do: all messages are delivered"]
    assert len(node.waits) == 2
