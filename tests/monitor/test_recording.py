"""Adding an ended run to the history: the child that diagnoses the end does it, and else another one."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.history.totals import Wanted
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.job.tracking.tasks import with_diagnoses
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.monitor.job_monitor import MonitorDeps
from jobmon_core.monitor.wiring import MonitorFactory
from jobmon_core.store.history.index import open_history
from jobmon_core.store.home import Home
from tests.support.clock import FakeClock
from tests.support.waiting import eventually

END = End(JobState.FAILED, "FAILED", Outcome.FAILURE, Source.QUEUE, exit_code=3, started_s=100, ended_s=200)
JOB = WatchedJob(
    "local-1-x",
    1,
    100.0,
    backend="local",
    name="train",
    tasks={"": Task("", state=JobState.FAILED, submit_s=90, end=END)},
)


class Ended:
    """A job that has just ended, and what its monitor does then."""

    def __init__(self, folder: Path) -> None:
        self.ctx = Context(Home(folder), {}, clock=FakeClock(300.0))
        self.ctx.store.save(JOB)
        self.logged: list[str] = []
        self.deps: MonitorDeps = MonitorFactory(self.ctx).job_monitor(JOB.id, self.logged.append)._deps  # noqa: SLF001 - what a monitor calls

    def diagnosed(self) -> WatchedJob:
        return with_diagnoses(JOB, self.deps.diagnose(JOB, ("",)))

    def record(self, job: WatchedJob) -> float | None:
        return self.deps.record(job)

    @property
    def runs(self) -> list[HistoryRecord]:
        with open_history(self.ctx.home.history) as history:
            return history.records(Wanted())

    @property
    def lines(self) -> int:
        paths = self.ctx.home.history.glob("*.jsonl")
        return sum(len(path.read_bytes().splitlines()) for path in paths)


@pytest.fixture
def ended(tmp_path: Path) -> Ended:
    return Ended(tmp_path)


def test_the_child_that_diagnoses_an_end_adds_the_run_and_no_other_does(ended: Ended) -> None:
    job = ended.diagnosed()
    eventually(lambda: ended.lines == 1)  # nobody has asked for it yet
    assert ended.record(job) is None
    assert ended.lines == 1
    (run,) = ended.runs
    assert (run.name, run.exit_code, run.state_id) == ("train", 3, JOB.id)


@pytest.mark.parametrize(
    "changed",
    [
        lambda job: replace(job, tasks={"": replace(job.tasks[""], end=replace(END, exit_code=4))}),
        lambda job: replace(job, tasks={**job.tasks, "2": Task("2", submit_s=90, end=END)}),
    ],
    ids=["another end", "another task"],
)
def test_what_has_changed_since_the_diagnosis_is_added_too_and_counts(
    ended: Ended, changed: Callable[[WatchedJob], WatchedJob]
) -> None:
    job = changed(ended.diagnosed())
    assert ended.record(job) is None
    assert sorted((run.task, run.exit_code) for run in ended.runs) == sorted(
        (key, task.end.exit_code) for key, task in job.tasks.items() if task.end
    )


def test_a_monitor_that_only_finds_the_diagnosis_adds_the_run_which_is_there_once(tmp_path: Path) -> None:
    first = Ended(tmp_path)
    job = first.diagnosed()
    eventually(lambda: first.lines == 1)
    successor = Ended(tmp_path)
    assert successor.record(job) is None
    assert (successor.lines, len(successor.runs)) == (2, 1)


def test_what_cannot_be_added_delays_no_diagnosis_and_is_added_at_the_next_try(ended: Ended) -> None:
    blocked = ended.ctx.home.history
    blocked.parent.mkdir(parents=True, exist_ok=True)
    blocked.write_text("in the way")
    job = ended.diagnosed()
    assert job.tasks[""].diagnosis
    assert ended.record(job) == 330.0
    assert ended.logged[-1].startswith("the run could not be added to the history: ")
    blocked.unlink()
    assert ended.record(job) is None
    assert (len(ended.runs), ended.runs[0].cause) == (1, job.tasks[""].diagnosis.cause or "")


def test_a_child_that_is_killed_while_it_adds_a_run_loses_nothing(
    ended: Ended, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ended.ctx.home.history

    def die(*_: object) -> None:
        os._exit(1)

    monkeypatch.setattr("jobmon_core.monitor.recording.write_records", die)
    job = ended.diagnosed()
    assert ended.record(job) == 330.0
    monkeypatch.undo()
    assert ended.record(job) is None
    assert (len(ended.runs), real.is_dir()) == (1, True)
