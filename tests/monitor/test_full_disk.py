"""Ten minutes without room on the disk, by a clock that only the test moves: all is told, nothing is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.diagnosis.model import Diagnosis
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.domain.tracking.model import WatchedJob
from jobmon_core.domain.tracking.policy import Policy
from jobmon_core.monitor.job_monitor import JobMonitor, MonitorDeps
from jobmon_core.monitor.loop import MonitorLoop
from jobmon_core.monitor.outage_notifier import OutageNotifier
from jobmon_core.polling.accounting import SharedAccounting
from jobmon_core.polling.queue import SharedQueue
from jobmon_core.store.jobs import JobStore
from jobmon_core.store.outage_notice import OutageNoticeFile
from jobmon_core.store.shared_answers import SharedAnswer
from tests.support.clock import FakeClock
from tests.support.disk import SmallDisk, small_disk
from tests.support.play import START_S, ledger, record, row
from tests.support.scheduler import FakeScheduler

TEN_MINUTES_S = 600.0
PATIENCE_S = 3600.0
JOBS = ("12", "13")


class Office:
    """A monitor of two jobs whose home lies on a small disk."""

    def __init__(self, disk: SmallDisk) -> None:
        self.disk = disk
        self.clock = FakeClock(START_S + 10)
        self.slurm = FakeScheduler()
        self.store = JobStore(disk.folder)
        self.sent: list[str] = []
        self.trouble: list[str] = []
        self.left: tuple[str, ...] = JOBS
        self.slurm.queue = [tuple(row(job_id, "RUNNING") for job_id in JOBS)]
        self.monitor = MonitorLoop(
            {job_id: self._watch(job_id) for job_id in JOBS}, self.clock, lambda _job_id: None
        )

    def all_fail(self) -> None:
        """Both jobs end while nobody can write it down."""
        self.slurm.queue = [tuple(row(job_id, "FAILED") for job_id in JOBS)]
        self.slurm.records = [tuple(record(job_id, "FAILED", 1) for job_id in JOBS)]
        self.slurm.accounting = [tuple(ledger(job_id, "FAILED", 1) for job_id in JOBS)]

    def go_on(self, seconds: float) -> None:
        """Let the monitor work until so much time has passed or everything is told."""
        until_s = self.clock.now() + seconds
        while self.left and self.clock.now() < until_s:
            self.left = self.monitor.run_due(
                lambda _job_id, event: self.trouble.append(event), lambda _: None
            )
            assert not list(self.disk.folder.glob(".*")), "a temporary file was left"
            if self.left:
                self.monitor.wait()

    def state(self) -> dict[str, WatchedJob]:
        """What the state files hold, which must be whole."""
        return {job_id: self.store.load(f"slurm-{job_id}-x") for job_id in JOBS}

    def _watch(self, job_id: str) -> JobMonitor:
        job = WatchedJob(f"slurm-{job_id}-x", int(job_id), START_S, user="me")
        self.store.save(job)
        folder, slurm, clock = self.disk.folder, self.slurm, self.clock
        return JobMonitor(
            job,
            MonitorDeps(
                scheduler=slurm,
                queue=SharedQueue(slurm, SharedAnswer(folder / "queue.reply"), clock),
                accounting=SharedAccounting(slurm, SharedAnswer(folder / "accounting.reply"), clock),
                outages=OutageNotifier(
                    lambda _job: OutageNoticeFile(folder / "x.notice"),
                    clock,
                    Policy(),
                    "n1",
                    lambda _job_id: False,
                ),
                store=self.store,
                clock=clock,
                policy=Policy(),
                cluster_name=str,
                diagnose=lambda _job, keys: dict.fromkeys(keys, Diagnosis(None, "", "", "")),
                deliver=self._deliver,
                cancel_requested=lambda _job_id: False,
                log=lambda _event: None,
            ),
        )

    def _deliver(self, entry: OutboxEntry, note: Callable[[OutboxEntry], None]) -> tuple[OutboxEntry, ...]:
        note(replace(entry, attempts=1, attempt_since_s=self.clock.now()))
        self.sent.append(entry.message.id)
        return (replace(entry, attempts=1, attempt_since_s=None, delivered_s=self.clock.now()),)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with small_disk(tmp_path / "disk") as disk:
        yield Office(disk)


def test_ends_that_fall_into_ten_minutes_without_room_are_told_once_when_there_is_room(
    office: Office,
) -> None:
    office.go_on(60)
    before = office.state()
    assert all(job.tasks for job in before.values())
    office.disk.fill()
    office.all_fail()
    office.go_on(TEN_MINUTES_S)
    assert office.state() == before
    assert office.sent == []
    assert set(office.left) == set(JOBS)
    assert any("No space left on device" in event for event in office.trouble)
    office.disk.free()
    office.go_on(PATIENCE_S)
    assert sorted(office.sent) == ["12/end", "13/end"]
    assert office.left == ()
    assert [job.outcome for job in office.state().values()] == [Outcome.FAILURE] * 2
    assert not any(job.undelivered for job in office.state().values())


def test_ten_minutes_without_room_while_jobs_run_cost_nothing(office: Office) -> None:
    office.go_on(60)
    office.disk.fill()
    office.go_on(TEN_MINUTES_S)
    office.disk.free()
    office.go_on(120)
    office.all_fail()
    office.go_on(PATIENCE_S)
    assert sorted(office.sent) == ["12/end", "13/end"]


def test_without_room_slurm_is_asked_for_each_job_at_most_once_an_interval(office: Office) -> None:
    office.go_on(60)
    sound = office.slurm.asked["queue"]
    office.go_on(TEN_MINUTES_S)
    asked_in_time = office.slurm.asked["queue"] - sound
    office.disk.fill()
    before = office.slurm.asked["queue"]
    office.go_on(TEN_MINUTES_S)
    assert office.slurm.asked["queue"] - before <= asked_in_time * len(JOBS) + 1
