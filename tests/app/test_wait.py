"""Waiting for jobs by their state files, while the test is their monitor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon.views.waiting import Known, wait_line
from jobmon_core.app.wait import Result, Waited, WaitForJobs, WaitTarget
from jobmon_core.context import Context
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.store.home import Home
from jobmon_core.store.owner import Owner
from jobmon_core.system.clock import Wake
from tests.support.clock import FakeClock
from tests.support.job_records import NOW_S, RUNNING, failed, job_of, status_of, succeeded
from tests.support.lineages import NODE_FAIL, attempt, job_of_attempt, lineage_of
from tests.support.lineages import save as save_lineage


class Monitors(FakeClock):
    """A clock at whose ticks the jobs go on: ``later`` are the records to save, by the number of the wait."""

    def __init__(self, folder: Path) -> None:
        super().__init__(NOW_S)
        self.ctx = Context(Home(folder), {}, clock=self)
        self.later: dict[int, WatchedJob] = {}
        self.at: dict[int, Callable[[], None]] = {}  # likewise, what else happens
        self.said: list[str] = []

    def wait(self, seconds: float) -> Wake:
        wake = super().wait(seconds)
        if happens := self.at.get(len(self.waits)):
            happens()
        if job := self.later.get(len(self.waits)):
            self.ctx.store.save(job)
        return wake

    def watch(self, *jobs: WatchedJob) -> list[WaitTarget]:
        for job in jobs:
            self.ctx.store.save(job)
            self.ctx.home.monitors.mkdir(exist_ok=True)
            self.ctx.owner_record(job.id).write(Owner.this_process())
        return [WaitTarget(job.id, job.ref) for job in jobs]

    def answers(self, targets: list[WaitTarget], for_s: float | None = None) -> list[Waited]:
        deadline_s = None if for_s is None else self.now_s + for_s
        return WaitForJobs(self.ctx, self.said.append).wait(lambda: targets, deadline_s)


@pytest.fixture
def monitors(tmp_path: Path) -> Monitors:
    return Monitors(tmp_path)


def test_a_wait_ends_with_the_last_job(monitors: Monitors) -> None:
    first, second = job_of(RUNNING), job_of(RUNNING, job_id=13)
    targets = monitors.watch(first, second)
    monitors.later = {
        3: job_of(failed(), concluded_s=NOW_S),
        5: job_of(succeeded(), job_id=13, concluded_s=NOW_S),
    }
    answers = monitors.answers(targets)
    assert [each.result for each in answers] == [Result.FAILURE, Result.SUCCESS]
    assert len(monitors.waits) == 5


def test_a_bounded_wait_ends_at_its_time_while_the_job_runs(monitors: Monitors) -> None:
    targets = monitors.watch(job_of(RUNNING))
    (answer,) = monitors.answers(targets, 590.0)
    assert (answer.result, sum(monitors.waits)) == (Result.RUNNING, 590.0)
    (answer,) = monitors.answers(targets, 0.0)
    assert (answer.result, sum(monitors.waits)) == (Result.RUNNING, 590.0)


def test_a_job_without_a_monitor_that_cannot_get_one_is_of_unknown_outcome(monitors: Monitors) -> None:
    job = job_of(RUNNING)
    monitors.ctx.store.save(job)
    (monitors.ctx.home.monitors / f"{job.id}.lock").mkdir(parents=True)  # nothing can lock it
    (answer,) = monitors.answers([WaitTarget(job.id, job.ref)])
    assert (answer.result, "jobmon recover" in answer.why) == (Result.UNKNOWN, True)
    assert 60.0 <= sum(monitors.waits) <= 75.0
    (answer,) = monitors.answers([WaitTarget(job.id, job.ref)], 2.0)
    assert answer.result is Result.UNKNOWN


def test_a_state_file_that_cannot_be_read_is_of_unknown_outcome_and_the_others_are_waited_for(
    monitors: Monitors,
) -> None:
    targets = monitors.watch(job_of(RUNNING), job_of(RUNNING, job_id=13))
    monitors.ctx.store.path(targets[0].state_id).write_text("{", encoding="ascii")
    monitors.later = {2: job_of(succeeded(), job_id=13, concluded_s=NOW_S)}
    answers = monitors.answers(targets)
    assert [each.result for each in answers] == [Result.UNKNOWN, Result.SUCCESS]
    assert "is damaged" in answers[0].why


def test_a_wait_for_any_attempt_ends_with_the_last_one_of_its_lineage(monitors: Monitors) -> None:
    first, ended = job_of_attempt(0), job_of_attempt(0, NODE_FAIL)
    due = replace(ended, restart_due_s=NOW_S + 60)
    lineage = lineage_of(attempt(0), attempt(1))
    targets = monitors.watch(first, job_of_attempt(1))
    save_lineage(monitors.ctx, lineage_of(attempt(0)))
    monitors.later = {2: due, 6: ended, 9: job_of_attempt(1, succeeded())}
    monitors.at[5] = lambda: save_lineage(monitors.ctx, lineage)  # before its monitor saves that none is due
    (answer,) = monitors.answers(targets[:1])
    assert (answer.result, str(answer.ref), len(monitors.waits)) == (Result.SUCCESS, "8124", 9)


def test_a_wait_that_is_over_too_early_says_that_a_restart_is_due(monitors: Monitors) -> None:
    due = job_of_attempt(0, NODE_FAIL, restart_due_s=NOW_S + 42)
    save_lineage(monitors.ctx, lineage_of(attempt(0)))
    answers = monitors.answers(monitors.watch(due), 0.0)
    assert answers[0].result is Result.RUNNING
    known = Known({due.id: status_of(due)}, {}, NOW_S)
    assert wait_line(answers, known) == "job 8123 train: NODE_FAIL; restart in 42s"
    assert "2 to be restarted" in wait_line([*answers, *answers], known)


def test_a_lineage_that_cannot_be_read_makes_the_outcome_unknown(monitors: Monitors) -> None:
    targets = monitors.watch(job_of_attempt(0, NODE_FAIL))
    save_lineage(monitors.ctx, lineage_of(attempt(0)))
    (monitors.ctx.home.lineages / "7f3a.json").write_text("{", encoding="utf-8")
    (answer,) = monitors.answers(targets)
    assert (answer.result, "is damaged" in answer.why) == (Result.UNKNOWN, True)
