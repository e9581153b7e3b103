"""The decision after an end and the order to submit the next attempt, with a kill at every step."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.job.job_settings import AttemptPlace, JobSettings, RestartMode, RestartSettings
from jobmon_core.domain.job.restart.model import Attempt, Decision, Lineage, Verdict
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.job.tracking.new_job import NewJob
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.monitor.job_monitor import JobMonitor
from jobmon_core.monitor.restarts import decide_restart, restart
from jobmon_core.store.home import Home
from jobmon_core.store.jobs import JobStore
from jobmon_core.store.lineages import RecordedSubmission
from jobmon_core.system.helper import Helper
from tests.support.clock import FakeClock
from tests.support.helper import AtHome
from tests.support.monitor_deps import monitor_deps
from tests.support.play import record, row, sacct_row
from tests.support.scheduler import FakeScheduler

ID = "1f2e"
SETTINGS = JobSettings(restart=RestartSettings(RestartMode.ON), attempt=AttemptPlace(ID))
JOB = WatchedJob("slurm-12-x", 12, 999_900.0, user="me", settings=SETTINGS)
END = End(JobState.FAILED, "FAILED", Outcome.FAILURE, Source.ACCOUNTING, 75, ended_s=999_990)
ENDED = replace(JOB, tasks={"": Task("", end=END)})
SECRET = RecordedSubmission(("train.sbatch",), "/w", {"TOKEN": "s3cret"})


class Killed(BaseException):
    """A kill -9 of the monitor."""


class Site:
    """A home with one lineage, whose first attempt has ended."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.ctx = Context(Home(folder), {}, clock=self.clock)
        self.lineages = self.ctx.lineages
        first = Attempt(0, JOB.id, "12", "slurm")
        lineage = Lineage(ID, 1.0, RestartSettings(RestartMode.ON), (first,))
        self.lineages.update(ID, lambda _: lineage)
        self.lineages.submission(ID).write(SECRET)
        self.log: list[str] = []
        self.decisions = 0
        self.verdict = Verdict.RESTART

    def decide(self, job: WatchedJob = ENDED) -> Decision:
        return decide_restart(self.ctx, AtHome(), self.log.append, job, self.new_decision)

    def new_decision(self, _ctx: Context, _job: WatchedJob, lineage: Lineage) -> Decision:
        self.decisions += 1
        assert lineage.attempts[0].ended_s
        at_s = self.clock.now()
        return Decision(self.verdict, "exit", f"decision {self.decisions}", at_s, not_before_s=at_s + 60)

    @property
    def has_secret(self) -> bool:
        return self.lineages.submission(ID).path.exists()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_decision_is_saved_in_the_lineage_and_never_made_twice(site: Site) -> None:
    assert site.decide() == site.decide()
    assert site.lineages.load(ID).attempts[0].decision == site.decide()
    assert site.decisions == 1


def test_an_end_after_the_decision_is_decided_about_anew(site: Site) -> None:
    site.decide()
    ended_again = replace(END, ended_s=int(site.clock.now()) + 3600)
    site.clock.now_s += 7200
    job = replace(ENDED, tasks={"": Task("", end=ended_again)})
    decide_restart(
        site.ctx, AtHome(), site.log.append, job, lambda *_: Decision(Verdict.STOP, "x", "anew", 0.0)
    )
    decision = site.lineages.load(ID).attempts[0].decision
    assert decision is not None
    assert decision.why == "anew"


@pytest.mark.parametrize(
    ("verdict", "stays"),
    [
        (Verdict.RESTART, True),
        (Verdict.ASK, True),
        (Verdict.STOP, False),
        (Verdict.FINISHED, False),
    ],
)
def test_the_private_file_goes_when_the_lineage_has_ended(
    site: Site, verdict: Verdict, *, stays: bool
) -> None:
    site.verdict = verdict
    site.decide()
    assert site.has_secret is stays
    assert (site.lineages.load(ID).ended_s is None) is stays


def test_a_private_file_that_a_kill_left_is_removed_by_the_next_monitor(site: Site) -> None:
    site.verdict = Verdict.STOP
    site.decide()
    site.lineages.submission(ID).write(SECRET)
    site.decide()
    assert not site.has_secret


@pytest.mark.parametrize("damage", ["{", "missing", "folder"])
def test_a_lineage_that_cannot_be_read_leaves_the_decision_to_the_user(site: Site, damage: str) -> None:
    path = site.lineages.folder / f"{ID}.json"
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage != "missing":
        path.write_text(damage, encoding="ascii")
    decision = site.decide()
    assert decision.verdict is Verdict.ASK
    assert ID in decision.why


def test_an_internal_error_leaves_the_decision_to_the_user(site: Site) -> None:
    def broken(*_: object) -> Decision:
        raise KeyError("oops")

    decision = decide_restart(site.ctx, Helper(), site.log.append, ENDED, broken)
    assert decision.verdict is Verdict.ASK
    assert any("oops" in line for line in site.log)


def test_a_helper_that_is_killed_loses_no_decision(site: Site) -> None:
    mark = site.lineages.folder / "killed"

    def killed_once(ctx: Context, job: WatchedJob, lineage: Lineage) -> Decision:
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return site.new_decision(ctx, job, lineage)

    decision = decide_restart(site.ctx, Helper(), site.log.append, ENDED, killed_once)
    assert (decision.verdict, mark.exists()) == (Verdict.RESTART, True)
    assert site.lineages.load(ID).attempts[0].decision == decision


class MonitoredSite(Site):
    """The same with a monitor that can be killed before or after each of its steps."""

    def __init__(self, folder: Path, kill_at: int) -> None:
        super().__init__(folder)
        self.steps, self.kill_at = 0, kill_at
        self.trace: list[str] = []
        self.submitted, self.told = 0, set[str]()
        self.slurm = FakeScheduler()
        self.slurm.queue = [(row("12", "FAILED"),)]
        self.slurm.records = [(record("12", "FAILED", 75),)]
        self.slurm.accounting = [(sacct_row("12", "FAILED", 75),)]
        self.store = KillableStore(self.ctx.home.state, self.step)
        self.store.save(JOB)

    def step(self, name: str) -> None:
        self.trace.append(name)
        self.steps += 1
        if self.steps == self.kill_at:
            raise Killed

    def monitor(self) -> JobMonitor:
        def deliver(entry: OutboxEntry, save: Callable[[OutboxEntry], None]) -> tuple[OutboxEntry, ...]:
            decision = self.store.load(JOB.id).decision
            assert decision is not None  # saved before the message
            assert decision.why in entry.message.summary
            save(replace(entry, attempts=entry.attempts + 1))
            self.told.add(entry.message.id)
            self.step("delivered")
            return (replace(entry, delivered_s=self.clock.now()),)

        def restarted(job: WatchedJob) -> WatchedJob:
            decision = self.lineages.load(ID).attempts[0].decision
            assert decision == self.store.load(JOB.id).decision  # saved before it is acted on
            assert decision is not None
            assert decision.not_before_s <= self.clock.now()
            self.step("before the submission")
            if self.lineages.load(ID).attempt(1) is None:  # as the program that submits looks
                self.submitted += 1
                second = Attempt(1, "slurm-13-x", "13", "slurm")
                self.lineages.update(ID, lambda now: now.with_attempt(second))
            self.step("submitted")
            return replace(job, restart_due_s=None)

        def decided(job: WatchedJob) -> Decision:
            self.step("before the decision")
            decision = self.decide(job)
            self.step("decided")
            return decision

        deps = monitor_deps(self.ctx.home.root, self.slurm, self.clock)
        deps = replace(deps, store=self.store, deliver=deliver, decide_restart=decided, restart=restarted)
        return JobMonitor(self.store.load(JOB.id), deps)


@dataclass(frozen=True)
class KillableStore(JobStore):
    """A store whose process may be killed before and after each write."""

    step: Callable[[str], None]

    def save(
        self,
        job: WatchedJob | NewJob,
        check_owner: Callable[[], None] = lambda: None,
        *,
        is_news: bool = True,
    ) -> None:
        self.step("before saving")
        super().save(job, check_owner, is_news=is_news)
        self.step("saved")


def run_to_the_end(site: MonitoredSite) -> None:
    watch = site.monitor()
    for _ in range(200):
        try:
            due_s = watch.poll_once()
        except Killed:
            watch = site.monitor()
            continue
        if due_s is None or (site.submitted and watch.job.finished):
            return
        site.clock.now_s = max(site.clock.now_s + 1, due_s)
    raise AssertionError(site.trace)


STEPS = 40  # more than there are


@pytest.mark.parametrize("kill_at", range(1, STEPS))
def test_a_monitor_that_is_killed_at_any_step_loses_no_attempt_and_submits_none_twice(
    tmp_path: Path, kill_at: int
) -> None:
    site = MonitoredSite(tmp_path, kill_at + 2)  # the first two are of the set-up
    run_to_the_end(site)
    assert (site.submitted, site.told) == (1, {"12/end"})
    decisions = [each.decision for each in site.lineages.load(ID).attempts]
    assert decisions[0] == site.store.load(JOB.id).decision
    assert [each.number for each in site.lineages.load(ID).attempts] == [0, 1]


def test_a_restart_that_is_held_waits_without_a_process(site: Site) -> None:
    site.lineages.update(ID, lambda now: replace(now, is_held=True))
    job = replace(ENDED, decision=site.decide(), restart_due_s=1.0)
    after = restart(site.ctx, site.log.append, job)
    assert after.restart_due_s is not None
    assert after.restart_due_s > site.clock.now()
    assert after.outbox == ()
