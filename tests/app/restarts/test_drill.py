"""A drill cancels the first attempt once it has saved, and reports whether the second went on there."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.app.restarts.by_hand import drill, drillable
from jobmon_core.context import Context
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job.job_settings import AttemptPlace, JobSettings, RestartMode
from jobmon_core.domain.job.restart.model import Attempt, Decision, Lineage, PickedCheckpoint, Verdict
from jobmon_core.store.home import Home
from tests.support.checkpoint_layouts import hf_trainer, saved_at
from tests.support.clock import FakeClock
from tests.support.job_records import NOW_S, PENDING, RUNNING, succeeded
from tests.support.lineages import attempt, job_of_attempt, lineage_of, restart_from, save

RUNS = replace(RUNNING, start_s=int(NOW_S) - 1000)


class DrilledJob(FakeClock):
    """A job, and what happens at each wait of the drill."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(NOW_S)
        self.ckpt, self.told, self.folder = folder / "ckpt", list[str](), folder
        self.then: list[Callable[[], object]] = []
        home = folder / "home"
        home.mkdir(mode=0o700)
        self.ctx = Context(Home(home), dict(os.environ), clock=self)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        self.scancel('echo "$@" >> "$0.log"')
        self.job = job_of_attempt(0, RUNS, backend="slurm")
        settings = JobSettings(checkpoint_dir=str(self.ckpt), attempt=AttemptPlace("7f3a"))
        self.job = replace(self.job, settings=settings)
        self.put(lineage_of(attempt(0)))

    def put(self, lineage: Lineage) -> None:
        save(self.ctx, lineage, self.job)

    def scancel(self, script: str) -> None:
        (self.folder / "scancel").write_text(f"#!/bin/bash\n{script}\n")
        (self.folder / "scancel").chmod(0o755)

    def wait(self, seconds: float) -> object:  # type: ignore[override] # nobody asks what woke it
        self.now_s += seconds
        assert self.then, f"it would wait for ever; it said {self.told}"
        return self.then.pop(0)()

    def saves(self, step: int) -> Callable[[], object]:
        return lambda: saved_at(hf_trainer(self.ckpt, step), self.now_s - 1)

    def nothing(self) -> None:
        pass

    def decides(self, decision: Decision) -> Callable[[], object]:
        return lambda: self._update(lambda lineage: lineage.with_attempt(attempt(0, decision=decision)))

    def resumes(self, first_step: int | None, **more: object) -> Callable[[], object]:
        second = Attempt(1, "slurm-8124-x", "8124", "slurm", resume=PickedCheckpoint("/c", 100))
        second = replace(second, first_step=first_step, **more)  # type: ignore[arg-type] # fields by name
        return lambda: self._update(lambda lineage: lineage.with_attempt(second))

    def _update(self, change: Callable[[Lineage], Lineage]) -> None:
        self.ctx.lineages.update("7f3a", change)

    @property
    def cancelled(self) -> str:
        log = self.folder / "scancel.log"
        return log.read_text() if log.exists() else ""

    @property
    def lineage(self) -> Lineage:
        return self.ctx.lineages.load("7f3a")

    def drill(self, at_step: int = 0) -> bool:
        return drill(self.ctx, "7f3a", at_step, self.told.append)


@pytest.fixture
def drilled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DrilledJob:
    return DrilledJob(tmp_path, monkeypatch)


def test_the_first_attempt_is_cancelled_once_it_has_saved_and_the_second_is_followed(
    drilled: DrilledJob,
) -> None:
    drilled.then = [
        *(drilled.nothing, drilled.saves(100), drilled.nothing, drilled.decides(restart_from(100))),
        *(drilled.resumes(None), drilled.resumes(101)),
    ]
    assert drilled.drill()
    assert drilled.cancelled == "8123\n"
    assert drilled.lineage.drill_s == NOW_S + 15
    assert drilled.told == [
        f"{drilled.ckpt}/checkpoint-100 is complete, so job 8123 is cancelled; attempt 1 follows",
        "attempt 1 (job 8124) resumed: its first step is 101, that of the checkpoint 100",
    ]


def test_a_program_that_saves_all_the_time_is_drilled_too(drilled: DrilledJob) -> None:
    drilled.then = [*map(drilled.saves, (100, 110, 120)), drilled.decides(restart_from(110))]
    drilled.then += [drilled.resumes(101)]
    assert drilled.drill()


def test_it_waits_for_a_set_step(drilled: DrilledJob) -> None:
    drilled.then = [drilled.saves(100), drilled.nothing, drilled.nothing, drilled.saves(200), drilled.nothing]
    drilled.then += [drilled.decides(restart_from(200)), drilled.resumes(101)]
    assert drilled.drill(at_step=150)
    assert "checkpoint-200 is complete" in drilled.told[0]


def test_an_attempt_that_began_from_scratch_fails_the_drill(drilled: DrilledJob) -> None:
    drilled.then = [
        drilled.saves(100),
        drilled.nothing,
        drilled.decides(restart_from(100)),
        drilled.resumes(1),
    ]
    assert not drilled.drill()
    assert drilled.told[-1] == (
        "attempt 1 (job 8124) did not resume: its first step is 1, that of the checkpoint 100"
    )


def test_a_decision_against_a_restart_fails_the_drill(drilled: DrilledJob) -> None:
    ask = Decision(Verdict.ASK, "not_proved_dead", "Nothing proves that it is dead.", NOW_S)
    drilled.then = [drilled.saves(100), drilled.nothing, drilled.decides(ask)]
    assert not drilled.drill()
    assert drilled.told[-1] == "no attempt follows: Nothing proves that it is dead."


def test_a_second_attempt_that_shows_no_step_proves_nothing(drilled: DrilledJob) -> None:
    finished = Decision(Verdict.FINISHED, "finished", "It succeeded.", NOW_S)
    drilled.then = [drilled.saves(100), drilled.nothing, drilled.resumes(None, decision=finished)]
    assert not drilled.drill()
    assert "its log shows no step" in drilled.told[-1]


def test_a_job_that_cannot_be_cancelled_is_no_drill(drilled: DrilledJob) -> None:
    drilled.scancel("echo 'scancel: error: Access/permission denied' >&2; exit 1")
    drilled.then = [drilled.saves(100), drilled.nothing]
    with pytest.raises(JobmonError, match=r"job 8123 could not be cancelled: .*denied"):
        drilled.drill()
    assert drilled.lineage.drill_s is None  # a later cancellation is one by somebody


def test_a_job_that_ends_before_it_has_saved_is_not_cancelled(drilled: DrilledJob) -> None:
    def ends() -> None:
        drilled.job = replace(drilled.job, tasks={"": succeeded()}, concluded_s=NOW_S)
        drilled.put(drilled.lineage)

    drilled.then = [drilled.nothing, ends]
    with pytest.raises(JobmonError, match="while that is pending or running"):
        drilled.drill()
    assert drilled.cancelled == ""


@pytest.mark.parametrize("mode", [RestartMode.OFF, RestartMode.OBSERVE])
def test_a_job_whose_restarts_are_not_on_is_left_alone(drilled: DrilledJob, mode: RestartMode) -> None:
    lineage = lineage_of(attempt(0))
    drilled.put(replace(lineage, settings=replace(lineage.settings, mode=mode)))
    with pytest.raises(JobmonError, match=f"no attempt would follow, since its restarts are {mode}"):
        drillable(drilled.ctx, drilled.lineage)


@pytest.mark.parametrize(
    ("lineage", "why"),
    [
        (lineage_of(attempt(0), is_held=True), "its restarts are held"),
        (lineage_of(attempt(0), ended_why="It succeeded."), "since It succeeded"),
        (lineage_of(attempt(0), attempt(1)), "the first attempt of a job"),
    ],
)
def test_only_a_first_attempt_that_another_would_follow_is_drilled(
    drilled: DrilledJob, lineage: Lineage, why: str
) -> None:
    drilled.put(lineage)
    with pytest.raises(JobmonError, match=why):
        drillable(drilled.ctx, drilled.lineage)


def test_a_pending_job_can_be_drilled_later(drilled: DrilledJob) -> None:
    drilled.job = replace(drilled.job, tasks={"": PENDING})
    drilled.put(drilled.lineage)
    assert drillable(drilled.ctx, drilled.lineage)[0].job_id == 8123
