"""Jobs whose end is known while accounting does not respond: messages wait for the grace period only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.policy import NO_HURRY_S, Policy
from jobmon_core.domain.slurm.rows import Disabled, Unreachable
from jobmon_core.monitor.job_monitor import JobMonitor
from jobmon_core.store.shared_answers import SharedAnswer, StoredAnswer
from jobmon_core.system.lock import try_lock
from tests.support.clock import FakeClock
from tests.support.monitor_deps import monitor_deps
from tests.support.play import record, row, sacct_row
from tests.support.scheduler import FakeScheduler

POLICY = Policy()
LATE_S = 12  # the look at the queue, after the job's end
HANGS_S = 45.0  # until sacct gives up a slurmdbd that hangs
SLOW_S = 12.0


class Hanging(FakeScheduler):
    """Slurm with an accounting that takes all the time that it is given."""

    def __init__(self, clock: FakeClock, takes_s: float = HANGS_S) -> None:
        super().__init__()
        self.clock, self.takes_s = clock, takes_s
        self.accounting = [Unreachable("sacct: no answer")]

    def ask_accounting(
        self, job_ids: Sequence[int], within_s: float = NO_HURRY_S
    ) -> str | Disabled | Unreachable:
        self.clock.now_s += min(self.takes_s, within_s)
        if within_s < self.takes_s:
            self.asked["accounting"] += 1
            return Unreachable("sacct: no answer")
        return super().ask_accounting(job_ids, within_s)


def job_monitor(
    folder: Path, slurm: FakeScheduler, clock: FakeClock, reported_at_s: list[float]
) -> JobMonitor:
    def deliver(entry: OutboxEntry, _note: Callable[[OutboxEntry], None]) -> tuple[OutboxEntry, ...]:
        reported_at_s.append(clock.now())
        return (replace(entry, delivered_s=clock.now()),)

    deps = replace(monitor_deps(folder, slurm, clock), deliver=deliver)
    return JobMonitor(WatchedJob("slurm-12-x", 12, clock.now() - 60, user="me"), deps)


def test_a_message_waits_for_unresponsive_accounting_no_longer_than_the_grace_period(tmp_path: Path) -> None:
    clock, reported_at_s = FakeClock(), list[float]()
    ended_s = int(clock.now()) - LATE_S
    slurm = Hanging(clock)
    slurm.queue = [(row("12", "COMPLETED"),)]
    slurm.records = [(replace(record("12", "COMPLETED"), end_s=ended_s),)]
    watch = job_monitor(tmp_path, slurm, clock, reported_at_s)
    while (due_s := watch.poll_once()) is not None:
        clock.now_s = max(clock.now_s, due_s)
    assert slurm.asked["accounting"] >= 1
    looked_s = ended_s + LATE_S
    assert ended_s + POLICY.accounting_grace_s <= reported_at_s[0] <= looked_s + POLICY.accounting_grace_s


def test_a_job_whose_query_comes_late_is_reported_no_later(tmp_path: Path) -> None:
    clock, reported_at_s = FakeClock(), list[float]()
    slurm = Hanging(clock)
    slurm.queue = [(row("12", "COMPLETED"),)]
    slurm.records = [(replace(record("12", "COMPLETED"), end_s=int(clock.now())),)]
    watch = job_monitor(tmp_path, slurm, clock, reported_at_s)
    until_s = clock.now() + POLICY.accounting_grace_s
    with try_lock(tmp_path / "accounting.lock") as held:  # another monitor's query hangs
        assert held
        while clock.now_s < until_s - 2:
            clock.now_s = min(watch.poll_once() or until_s, until_s - 2)
        unanswered = StoredAnswer(clock.now_s - 20, problem="sacct: no answer", about=(13,))
        SharedAnswer(tmp_path / "accounting.reply").write(unanswered)
    while (due_s := watch.poll_once()) is not None:
        clock.now_s = max(clock.now_s, due_s)
    assert slurm.asked["accounting"] == 1
    assert until_s <= reported_at_s[0] <= until_s + 2


def test_a_job_whose_query_comes_late_still_gets_its_details_from_slow_accounting(
    tmp_path: Path,
) -> None:
    clock, reported_at_s = FakeClock(), list[float]()
    slurm = Hanging(clock, SLOW_S)
    slurm.queue = [(row("12", "COMPLETED"),)]
    slurm.records = [(replace(record("12", "COMPLETED"), end_s=int(clock.now())),)]
    slurm.accounting = [(sacct_row("12", "COMPLETED"),)]
    watch = job_monitor(tmp_path, slurm, clock, reported_at_s)
    until_s = clock.now() + POLICY.accounting_grace_s
    with try_lock(tmp_path / "accounting.lock"):  # another monitor's query takes long
        while clock.now_s < until_s - 2:
            clock.now_s = min(watch.poll_once() or until_s, until_s - 2)
    while (due_s := watch.poll_once()) is not None:
        clock.now_s = max(clock.now_s, due_s)
    end = watch.job.tasks[""].end
    assert end is not None
    assert end.elapsed_s is not None  # known from accounting only
