"""Two login nodes that share a home: a live monitor keeps its jobs, and no job has two monitors."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.store.owner import STALE_AFTER_S, Owner
from tests.support.failing_job import UNTIL_GO, assert_failed_and_told_once, let_go
from tests.support.host import Host, monitors
from tests.support.processes import kill_monitors
from tests.support.user import User
from tests.support.waiting import PATIENCE_S, eventually

ROUNDS = 4
JOBS = 3


class Site:
    """Two login nodes and a user with jobs."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.a, self.b = Host(user, "login-a"), Host(user, "login-b")

    def submit(self, host: Host) -> int:
        """Submit a job on a host; it fails once `let_go` is called."""
        done = host.jobmon("submit", self.user.script(UNTIL_GO))
        match = re.search(r"^Submitted batch job (\d+)", done.stdout)
        assert match, done
        assert "watching job" in done.stderr, done
        return int(match[1])

    def owner(self, job_id: int) -> Owner:
        """Return the owner of a job."""
        owner = self.user.snapshot(job_id).owner
        assert owner is not None
        return owner

    def record(self, job_id: int) -> Path:
        """Return the file that names the owner of a job."""
        return self.user.home / "state" / "monitors" / f"{self.user.job(job_id).id}.owner"

    def make_stale(self, job_id: int) -> None:
        """Make the last heartbeat of a job's monitor stale."""
        long_ago_s = time.time() - STALE_AFTER_S - 60
        os.utime(self.record(job_id), (long_ago_s, long_ago_s))

    def crash(self, *job_ids: int) -> None:
        """Kill the monitors of jobs."""
        for pid in {self.owner(job_id).pid for job_id in job_ids}:
            os.kill(pid, signal.SIGKILL)
            eventually(lambda pid=pid: pid not in monitors(self.user.home))  # type: ignore[misc]

    def locks(self, *job_ids: int) -> list[Path]:
        """Return the files that monitors of these jobs and `recover` lock."""
        folder = self.user.home / "state" / "monitors"
        return [folder / "recover.lock", *(self.record(job_id).with_suffix(".lock") for job_id in job_ids)]


@pytest.fixture
def site(user: User) -> Iterator[Site]:
    site = Site(user)
    yield site
    kill_monitors(user.home)


def recover(host: Host) -> str:
    done = host.jobmon("recover")
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_a_live_monitor_on_another_host_is_shown_and_keeps_its_job(site: Site) -> None:
    job_id = site.submit(site.a)
    pid = site.owner(job_id).pid
    assert site.owner(job_id).host == "login-a"
    assert "being watched on login-a\n" in recover(site.b)
    assert "being watched on login-a\n" in recover(site.a)
    done = site.b.jobmon("status")
    assert re.search(rf"^{job_id} .* elsewhere", done.stdout, re.MULTILINE)
    (line,) = done.stderr.splitlines()
    assert line.startswith("jobmon: monitors run on other hosts: ")
    assert f"; {site.user.home} is on " in line
    assert site.a.jobmon("status").stderr == ""
    assert list(monitors(site.user.home)) == [pid]
    let_go(site.user)
    assert_failed_and_told_once(site.user, job_id)


def test_after_a_reboot_the_same_host_adopts_the_job_at_once(site: Site) -> None:
    job_id = site.submit(site.a)
    before = site.owner(job_id)
    site.crash(job_id)
    site.a.boot()
    assert "DEAD" in site.a.jobmon("status").stdout
    assert "its monitor was dead; restarted" in recover(site.a)
    assert site.owner(job_id).host == before.host
    assert site.owner(job_id).boot_id != before.boot_id
    let_go(site.user)
    assert_failed_and_told_once(site.user, job_id)


def test_a_job_of_a_lost_host_is_adopted_once_its_heartbeat_is_stale(
    site: Site,
) -> None:
    job_id = site.submit(site.a)
    site.crash(job_id)
    assert "being watched on login-a\n" in recover(site.b)  # host b cannot know better
    assert monitors(site.user.home) == {}
    site.make_stale(job_id)
    assert "its monitor on login-a has been silent for too long; restarted on this host" in recover(site.b)
    assert site.owner(job_id).host == "login-b"
    site.a.boot()
    assert "being watched on login-b\n" in recover(site.a)
    assert len(monitors(site.user.home)) == 1
    let_go(site.user)
    assert_failed_and_told_once(site.user, job_id)


def test_with_shared_locks_a_live_monitor_with_a_stale_heartbeat_keeps_its_job(site: Site) -> None:
    job_id = site.submit(site.a)
    pid = site.owner(job_id).pid
    os.kill(pid, signal.SIGSTOP)  # as a hanging file server does
    try:
        site.make_stale(job_id)
        assert "skipped: another monitor adopted it in the meantime" in recover(site.b)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert list(monitors(site.user.home)) == [pid]
    let_go(site.user)
    assert_failed_and_told_once(site.user, job_id)


def test_without_shared_locks_a_replaced_monitor_stops_watching_the_job(site: Site) -> None:
    job_id = site.submit(site.a)
    pid = site.owner(job_id).pid
    site.b.has_locks_of_its_own(site.locks(job_id))
    os.kill(pid, signal.SIGSTOP)
    try:
        site.make_stale(job_id)
        assert "has been silent for too long; restarted on this host" in recover(site.b)
        let_go(site.user)
        site.user.in_state(job_id, "FAILED")
    finally:
        os.kill(pid, signal.SIGCONT)
    taken_over = "was adopted by monitor"
    eventually(lambda: taken_over in site.user.jobmon("logs", str(job_id), "--monitor").stdout)
    assert_failed_and_told_once(site.user, job_id)
    assert len(site.user.discord.attempts) == 1


@pytest.mark.parametrize("locks", ["reach between hosts", "do not reach", "of one host"])
def test_two_recoveries_at_once_adopt_each_job_once(site: Site, locks: str) -> None:
    job_ids = [site.submit(site.a) for _ in range(JOBS)]
    if locks == "do not reach":
        site.b.has_locks_of_its_own(site.locks(*job_ids))
    hosts = (site.a, site.a) if locks == "of one host" else (site.a, site.b)
    for _ in range(ROUNDS):
        site.crash(*job_ids)
        for job_id in job_ids:
            site.make_stale(job_id)
        both = [host.start("recover") for host in hosts]
        outputs = [process.communicate(timeout=PATIENCE_S) for process in both]
        assert sum(out.count("restarted") for out, _ in outputs) == JOBS, outputs
        watched = [job_id for jobs in monitors(site.user.home).values() for job_id in jobs]
        assert sorted(watched) == sorted(site.user.job(job_id).id for job_id in job_ids), outputs
    let_go(site.user)
    for job_id in job_ids:
        assert site.user.told(job_id).outcome is not None
    assert len(site.user.discord.received()) == JOBS


def test_two_recoveries_at_once_on_hosts_without_any_locks_start_one_monitor(site: Site) -> None:
    job_id = site.submit(site.a)
    for _ in range(ROUNDS):
        site.crash(job_id)
        site.make_stale(job_id)
        both = [host.start_without_locks("recover") for host in (site.a, site.b)]
        outputs = [process.communicate(timeout=PATIENCE_S) for process in both]
        assert sum(out.count("restarted") for out, _ in outputs) == 1, outputs
        assert len(monitors(site.user.home)) == 1
    let_go(site.user)
    assert_failed_and_told_once(site.user, job_id)
