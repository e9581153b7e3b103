"""A disk that is full for ten minutes (of a fake clock): all ends are reported, no temporary files remain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.monitor.job_monitor import JobMonitor
from jobmon_core.monitor.loop import MonitorLoop
from jobmon_core.store.jobs import JobStore
from tests.support.clock import FakeClock
from tests.support.disk import SmallDisk, small_disk
from tests.support.monitor_deps import monitor_deps
from tests.support.play import START_S, record, row, sacct_row
from tests.support.scheduler import FakeScheduler

TEN_MINUTES_S = 600.0
PATIENCE_S = 3600.0
JOBS = ("12", "13")


class MonitorOnSmallDisk:
    """A monitor of two jobs whose home lies on a small disk."""

    def __init__(self, disk: SmallDisk) -> None:
        self.disk = disk
        self.clock = FakeClock(START_S + 10)
        self.slurm = FakeScheduler()
        self.store = JobStore(disk.folder)
        self.sent: list[str] = []
        self.errors: list[str] = []
        self.remaining: tuple[str, ...] = JOBS
        self.slurm.queue = [tuple(row(job_id, "RUNNING") for job_id in JOBS)]
        self.monitor = MonitorLoop(self.clock, lambda _job_id: None)
        for job_id in JOBS:
            self.monitor.add(job_id, self._watch(job_id))

    def all_fail(self) -> None:
        """Let both jobs end."""
        self.slurm.queue = [tuple(row(job_id, "FAILED") for job_id in JOBS)]
        self.slurm.records = [tuple(record(job_id, "FAILED", 1) for job_id in JOBS)]
        self.slurm.accounting = [tuple(sacct_row(job_id, "FAILED", 1) for job_id in JOBS)]

    def go_on(self, seconds: float) -> None:
        """Run the monitor for ``seconds``, or until all jobs are finished."""
        until_s = self.clock.now() + seconds
        while self.remaining and self.clock.now() < until_s:
            self.remaining = self.monitor.run_due(
                lambda _job_id, event: self.errors.append(event), lambda _: None
            )
            assert not list(self.disk.folder.glob(".*")), "a temporary file was left"
            if self.remaining:
                self.monitor.wait()

    def state(self) -> dict[str, WatchedJob]:
        """Load the state files, which must be complete."""
        return {job_id: self.store.load(f"slurm-{job_id}-x") for job_id in JOBS}

    def _watch(self, job_id: str) -> JobMonitor:
        job = WatchedJob(f"slurm-{job_id}-x", int(job_id), START_S, user="me")
        self.store.save(job)
        deps = monitor_deps(self.disk.folder, self.slurm, self.clock)
        return JobMonitor(job, replace(deps, deliver=self._deliver))

    def _deliver(self, entry: OutboxEntry, note: Callable[[OutboxEntry], None]) -> tuple[OutboxEntry, ...]:
        note(replace(entry, attempts=1, attempt_since_s=self.clock.now()))
        self.sent.append(entry.message.id)
        return (replace(entry, attempts=1, attempt_since_s=None, delivered_s=self.clock.now()),)


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[MonitorOnSmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield MonitorOnSmallDisk(disk)


def test_jobs_that_end_while_the_disk_is_full_are_reported_once_when_there_is_space(
    setup: MonitorOnSmallDisk,
) -> None:
    setup.go_on(60)
    before = setup.state()
    assert all(job.tasks for job in before.values())
    setup.disk.fill()
    setup.all_fail()
    setup.go_on(TEN_MINUTES_S)
    assert setup.state() == before
    assert setup.sent == []
    assert set(setup.remaining) == set(JOBS)
    assert any("No space left on device" in event for event in setup.errors)
    setup.disk.free()
    setup.go_on(PATIENCE_S)
    assert sorted(setup.sent) == ["12/end", "13/end"]
    assert setup.remaining == ()
    assert [job.outcome for job in setup.state().values()] == [Outcome.FAILURE] * 2
    assert not any(job.undelivered for job in setup.state().values())


def test_a_disk_full_for_ten_minutes_does_not_affect_running_jobs(setup: MonitorOnSmallDisk) -> None:
    setup.go_on(60)
    setup.disk.fill()
    setup.go_on(TEN_MINUTES_S)
    setup.disk.free()
    setup.go_on(120)
    setup.all_fail()
    setup.go_on(PATIENCE_S)
    assert sorted(setup.sent) == ["12/end", "13/end"]


def test_a_full_disk_does_not_increase_queries_to_slurm(setup: MonitorOnSmallDisk) -> None:
    setup.go_on(60)
    sound = setup.slurm.asked["queue"]
    setup.go_on(TEN_MINUTES_S)
    asked_in_time = setup.slurm.asked["queue"] - sound
    setup.disk.fill()
    before = setup.slurm.asked["queue"]
    setup.go_on(TEN_MINUTES_S)
    assert setup.slurm.asked["queue"] - before <= asked_in_time * len(JOBS) + 1
