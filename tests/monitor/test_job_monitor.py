from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.card import JobCard
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.errors import AlreadyWatched, StorageFailed
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.new_job import NewJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.logs.diagnosis.model import EarlierLog
from jobmon_core.domain.logs.progress.events.event import Followed
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.monitor.agents import Agents, Reports
from jobmon_core.monitor.job_monitor import JobMonitor
from jobmon_core.monitor.progress_follower import ProgressFollower
from jobmon_core.store.jobs import JobStore
from jobmon_core.store.owner import RequestFile
from jobmon_core.system.helper import Helper, T
from tests.support.clock import FakeClock
from tests.support.monitor_deps import monitor_deps
from tests.support.play import record, row
from tests.support.scheduler import FakeScheduler

PENDING = OutboxEntry(Message("12/end", Route.ERROR, Tone.FAILURE, "it failed"))
ENDED = WatchedJob("slurm-12-x", 12, 100.0, user="me", concluded_s=200.0, outbox=(PENDING,))


class FullDisk(JobStore):
    """A store whose disk is full just when the delivery is to be ticked off."""

    full = True

    def save(
        self,
        job: WatchedJob | NewJob,
        check_owner: Callable[[], None] = lambda: None,
        *,
        is_news: bool = True,
    ) -> None:
        if FullDisk.full and isinstance(job, WatchedJob) and not job.undelivered:
            raise StorageFailed("no space left on device")
        super().save(job, check_owner, is_news=is_news)


class CountingStore(JobStore):
    """A store that counts how often a job was written."""

    saves = 0

    def save(
        self,
        job: WatchedJob | NewJob,
        check_owner: Callable[[], None] = lambda: None,
        *,
        is_news: bool = True,
    ) -> None:
        CountingStore.saves += 1
        super().save(job, check_owner, is_news=is_news)


def job_monitor(
    job: WatchedJob,
    store: JobStore,
    deliver: Callable[
        [OutboxEntry, Callable[[OutboxEntry], None]], tuple[OutboxEntry, ...]
    ] = lambda entry, _note: (entry,),
    slurm: FakeScheduler | None = None,
    clock: FakeClock | None = None,
) -> JobMonitor:
    deps = monitor_deps(store.folder, slurm or FakeScheduler(), clock or FakeClock())
    return JobMonitor(job, replace(deps, store=store, deliver=deliver))


def test_a_delivery_whose_result_cannot_be_saved_is_not_repeated(tmp_path: Path) -> None:
    sent: list[str] = []

    def deliver(entry: OutboxEntry, note: Callable[[OutboxEntry], None]) -> tuple[OutboxEntry, ...]:
        note(replace(entry, attempts=1, attempt_since_s=1.0))
        sent.append(entry.message.id)
        return (replace(entry, attempts=1, delivered_s=2.0),)

    watch = job_monitor(ENDED, FullDisk(tmp_path), deliver)
    for _ in range(3):
        with pytest.raises(StorageFailed):
            watch.poll_once()
    FullDisk.full = False
    assert watch.poll_once() is None
    assert sent == ["12/end"]
    assert JobStore(tmp_path).load(ENDED.id).undelivered == 0


def test_a_message_that_another_process_reopened_is_sent_by_the_monitor_that_lives(tmp_path: Path) -> None:
    """The monitor of a failed job lives for a while after its message: Slurm may run the job again."""
    store = JobStore(tmp_path)
    store.save(ENDED)  # as `jobmon init` leaves it
    given_up = replace(ENDED, outbox=(replace(PENDING, given_up="no error webhook is configured"),))
    watch = job_monitor(given_up, store, lambda entry, _note: (replace(entry, delivered_s=300.0),))
    assert watch.poll_once() is None
    assert JobStore(tmp_path).load(ENDED.id).undelivered == 0


def test_a_card_whose_result_cannot_be_saved_is_not_sent_again(tmp_path: Path) -> None:
    sent: list[str] = []

    def update_card(job: WatchedJob) -> JobCard:
        sent.append(job.id)
        return replace(job.card, closed=True)

    FullDisk.full = True
    job = replace(ENDED, outbox=(), card=JobCard("1", "hook"))
    deps = monitor_deps(tmp_path, FakeScheduler(), FakeClock(250.0))
    watch = JobMonitor(job, replace(deps, store=FullDisk(tmp_path), update_card=update_card))
    for _ in range(3):
        with pytest.raises(StorageFailed):
            watch.poll_once()
    FullDisk.full = False
    assert watch.poll_once() is None
    assert sent == [job.id]
    assert JobStore(tmp_path).load(job.id).card.closed


@pytest.mark.parametrize(
    ("problem", "logged"),
    [
        (
            "could not reach discord.com …8899: Connection refused",
            "not delivered, will be retried: could not",
        ),
        ("", "waits for its turn"),
    ],
)
def test_the_log_says_why_a_message_is_not_delivered(tmp_path: Path, problem: str, logged: str) -> None:
    events: list[str] = []
    deps = monitor_deps(tmp_path, FakeScheduler(), FakeClock())
    deps = replace(
        deps,
        log=events.append,
        deliver=lambda entry, _save: (replace(entry, problem=problem, next_try_s=float("inf")),),
    )
    JobMonitor(ENDED, deps).poll_once()
    assert events[-1].startswith(f"12: message 12/end {logged}")


def test_an_unchanged_job_is_saved_every_five_minutes_and_a_change_at_once(tmp_path: Path) -> None:
    slurm, clock, store = FakeScheduler(), FakeClock(), CountingStore(tmp_path)
    slurm.queue = [(row("12", "RUNNING"),)]
    slurm.records = [(record("12", "RUNNING"),)]
    watch = job_monitor(WatchedJob("slurm-12-x", 12, 100.0, user="me"), store, slurm=slurm, clock=clock)

    def written_in(rounds: int) -> int:
        before = CountingStore.saves
        for _ in range(rounds):
            clock.now_s += 31.0
            watch.poll_once()
        return CountingStore.saves - before

    written_in(2)
    assert written_in(50) == 5  # half an hour
    assert clock.now_s - (store.load("slurm-12-x").answered_s or 0.0) < 300.0
    assert watch.job.answered_s == clock.now_s  # it was asked all the while
    slurm.queue = [(row("12", "SUSPENDED"),)]
    assert written_in(1) >= 1
    assert store.load("slurm-12-x").tasks[""].raw_state == "SUSPENDED"
    slurm.queue = [Unreachable("no route to host")]
    assert written_in(1) >= 1
    saved = store.load("slurm-12-x")
    assert saved.stale_since_s == clock.now_s
    assert saved.answered_s == clock.now_s - 31.0  # the last answer, to the second


@pytest.mark.parametrize(
    ("state_then", "is_noted"), [("PENDING", True), ("RUNNING", False), ("FAILED", False)]
)
def test_what_a_log_held_counts_as_earlier_only_if_the_job_still_waited_when_it_was_read(
    tmp_path: Path,
    state_then: str,
    is_noted: bool,  # noqa: FBT001
) -> None:
    slurm = FakeScheduler()
    slurm.queue = [(row("12", "PENDING"),)]
    waiting = replace(record("12", "PENDING"), stdout="/w/12.out", stderr="/w/12.out")
    slurm.records = [(waiting,), (record("12", state_then),)]
    deps = monitor_deps(tmp_path, slurm, FakeClock())
    earlier = {"/w/12.out": EarlierLog(3, "abc")}
    monitor = JobMonitor(
        WatchedJob("slurm-12-x", 12, 100.0, user="me"), replace(deps, earlier_logs=lambda _: earlier)
    )
    monitor.poll_once()
    assert monitor.job.earlier_logs == (earlier if is_noted else {})
    assert slurm.asked["record"] == 2


def test_a_job_that_is_looked_at_more_often_costs_the_scheduler_no_more_queries(tmp_path: Path) -> None:
    slurm, clock = FakeScheduler(), FakeClock()
    slurm.queue = [(row("12", "RUNNING", submit_s=100),)]
    job = WatchedJob("slurm-12-x", 12, 100.0, user="me", settings=JobSettings(check_interval_s=10.0))
    watch = job_monitor(job, JobStore(tmp_path), slurm=slurm, clock=clock)
    started_s, looks = clock.now(), 0
    while clock.now() < started_s + 300.0:
        due_s = watch.poll_once()
        assert due_s is not None
        clock.now_s, looks = due_s, looks + 1
    assert looks > 15  # 30 on a quiet machine
    assert slurm.asked["queue"] <= 1 + 300.0 / Policy().running_s


class ScriptedAgents(Agents):
    """Agents that report what the test says."""

    def __init__(self) -> None:
        self.reports = Reports()

    def follow(self, job: WatchedJob, log: Callable[[str], None]) -> Reports:  # noqa: ARG002 - they follow none
        return self.reports

    def forget(self, state_id: str) -> None:
        """Do nothing."""


@pytest.fixture
def agents() -> ScriptedAgents:
    return ScriptedAgents()


def test_while_agents_report_logs_are_read_as_usual_and_slurm_is_asked_rarely(
    tmp_path: Path, agents: ScriptedAgents
) -> None:
    slurm, clock, readings = FakeScheduler(), FakeClock(), list[float]()
    slurm.queue = [(row("12", "RUNNING", submit_s=100),)]
    deps = monitor_deps(tmp_path, slurm, clock)

    def read(_jobs: object) -> dict[str, Followed]:
        readings.append(clock.now())
        return {}

    class InThisProcess(Helper):
        def run(self, kind: type[T], work: Callable[[], T], timeout_s: float) -> T:  # noqa: ARG002 - as the base
            return work()

    follower = ProgressFollower(read, InThisProcess(), clock, 30.0)
    job = WatchedJob("slurm-12-x", 12, 100.0, user="me")
    watch = JobMonitor(job, replace(deps, agents=agents, progress=follower))
    started_s = clock.now()
    agents.reports = Reports(since_s=started_s)
    while clock.now() < started_s + 1800.0:
        due_s = watch.poll_once()
        assert due_s is not None
        clock.now_s = due_s
    assert len(readings) >= 1800 / 30 - 2
    assert slurm.asked["queue"] <= 12
    agents.reports = Reports()
    asked = slurm.asked["queue"]
    watch.poll_once()
    clock.now_s += 30.0
    watch.poll_once()
    assert slurm.asked["queue"] > asked


def test_a_hint_of_the_end_is_followed_by_a_fresh_query_and_concludes_nothing(
    tmp_path: Path, agents: ScriptedAgents
) -> None:
    slurm, clock = FakeScheduler(), FakeClock()
    slurm.queue = [(row("12", "RUNNING", submit_s=100),)]
    job = WatchedJob("slurm-12-x", 12, 100.0, user="me")
    deps = replace(monitor_deps(tmp_path, slurm, clock), agents=agents, policy=Policy(cards=False))
    watch = JobMonitor(job, deps)
    watch.poll_once()
    clock.now_s += 10.0
    agents.reports = Reports(end_hint_s=clock.now())
    due_s = watch.poll_once()
    assert slurm.asked["queue"] == 2
    assert due_s == clock.now() + 5.0
    assert watch.job.is_running
    for _ in range(100):  # a hint alone may not cost more than a query every five seconds for half a minute
        clock.now_s += 1.0
        watch.poll_once()
    assert slurm.asked["queue"] <= 2 + 6 + 3
    assert watch.job.is_running


def test_many_hints_at_once_are_served_by_one_query(tmp_path: Path, agents: ScriptedAgents) -> None:
    slurm, clock = FakeScheduler(), FakeClock()
    slurm.queue = [tuple(row(str(number), "RUNNING", submit_s=100) for number in range(1, 201))]
    deps = replace(monitor_deps(tmp_path, slurm, clock), agents=agents)
    jobs = [WatchedJob(f"slurm-{number}-x", number, 100.0, user="me") for number in range(1, 201)]
    watches = [JobMonitor(job, deps) for job in jobs]
    for watch in watches:
        watch.poll_once()
    clock.now_s += 10.0
    asked, agents.reports = slurm.asked["queue"], Reports(end_hint_s=clock.now())
    for watch in watches:
        watch.poll_once()
    assert slurm.asked["queue"] == asked + 1


def test_a_given_up_message_is_sent_again_once_the_user_asks_for_that(tmp_path: Path) -> None:
    request = RequestFile(tmp_path / "replay")
    request.create()
    job = replace(ENDED, outbox=(replace(ENDED.outbox[0], channel="error", given_up="404", attempts=3),))
    deps = monitor_deps(tmp_path, FakeScheduler(), FakeClock(250.0))
    monitor = JobMonitor(job, replace(deps, replay=request))
    assert monitor.poll_once() is None
    assert [(entry.given_up, entry.delivered_s) for entry in monitor.job.outbox] == [("", 250.0)]
    assert not request.is_pending()


def test_programs_of_the_user_get_each_change_of_state(tmp_path: Path) -> None:
    slurm, clock = FakeScheduler(), FakeClock()
    slurm.queue = [(row("12", "PENDING"),), (row("12", "RUNNING"),)]
    slurm.records = [(record("12", "PENDING"),), (record("12", "RUNNING"),)]
    deps = monitor_deps(tmp_path, slurm, clock)
    monitor = JobMonitor(
        WatchedJob("slurm-12-x", 12, 100.0, user="me"), replace(deps, policy=Policy(has_programs=True))
    )
    monitor.poll_once()
    clock.now_s += 61.0
    monitor.poll_once()
    changes = [change for entry in monitor.job.outbox for change in entry.message.changes]
    assert [(change.before, change.after) for change in changes] == [("", "PENDING"), ("PENDING", "RUNNING")]


def test_a_monitor_that_lost_its_job_saves_and_sends_nothing(tmp_path: Path) -> None:
    """Another host delivered the message while this one was frozen between Slurm's answer and the save."""
    delivered = replace(ENDED, outbox=(replace(PENDING, delivered_s=1.0),))
    sent: list[str] = []

    def deliver(entry: OutboxEntry, note: Callable[[OutboxEntry], None]) -> tuple[OutboxEntry, ...]:
        note(replace(entry, attempts=1, attempt_since_s=1.0))
        sent.append(entry.message.id)
        return (entry,)

    def lost() -> None:
        raise AlreadyWatched("12 was adopted by monitor 1 on another-login-node")

    store, log = JobStore(tmp_path), list[str]()
    deps = monitor_deps(tmp_path, FakeScheduler(), FakeClock())
    watch = JobMonitor(ENDED, replace(deps, deliver=deliver, check_owner=lost, log=log.append))
    store.save(delivered)
    with pytest.raises(AlreadyWatched):
        watch.poll_once()
    assert (sent, log) == ([], [])
    assert store.load(ENDED.id) == delivered
