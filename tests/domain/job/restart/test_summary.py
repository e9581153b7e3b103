"""What became of a lineage: its state, the steps that were lost, and the time that was of use."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.job.restart.model import Attempt, Decision, Lineage, Submitting, Verdict
from jobmon_core.domain.job.restart.summary import (
    LineageState,
    lost_steps,
    start_step,
    summary_of,
    training_time_ratio,
)
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.slurm.states import JobState
from tests.support.job_records import NOW_S, PENDING, RUNNING
from tests.support.lineages import NODE_FAIL, attempt, checkpoint, job_of_attempt, lineage_of, restart_from

DUE = job_of_attempt(0, NODE_FAIL, restart_due_s=NOW_S + 42)
ENDED = job_of_attempt(0, NODE_FAIL)
ASK = Decision(Verdict.ASK, "unknown", "the cause is not known", NOW_S)
ONE = lineage_of(attempt(0))
RESTARTS = lineage_of(attempt(0, decision=restart_from(4200)))


@pytest.mark.parametrize(
    ("lineage", "newest", "state"),
    [
        (ONE, job_of_attempt(0, PENDING), LineageState.PENDING),
        (ONE, job_of_attempt(0, RUNNING), LineageState.RUNNING),
        (ONE, replace(ENDED, concluded_s=None), LineageState.DECIDING),
        (RESTARTS, replace(ENDED, concluded_s=None), LineageState.DECIDING),  # its state has no decision yet
        (ONE, job_of_attempt(0, Task("", JobState.FAILED)), LineageState.DECIDING),  # no outcome yet
        (ONE, DUE, LineageState.DUE),
        (replace(ONE, is_held=True), DUE, LineageState.HELD),
        (replace(ONE, submitting=Submitting(1, NOW_S, 7, "login")), DUE, LineageState.SUBMITTING),
        (replace(ONE, ended_why="finished"), DUE, LineageState.ENDED),  # the monitor has not read it yet
        (lineage_of(attempt(0, decision=ASK)), ENDED, LineageState.ASKING),
        (lineage_of(attempt(0, decision=replace(ASK, is_observed=True))), ENDED, LineageState.ENDED),
        (ONE, job_of_attempt(0, RUNNING, unwatched_s=NOW_S), LineageState.ENDED),
        (replace(ONE, ended_why="from scratch"), job_of_attempt(0, RUNNING), LineageState.RUNNING),
        (ONE, None, LineageState.ENDED),  # it was forgotten
    ],
)
def test_the_state_of_a_lineage(lineage: Lineage, newest: WatchedJob | None, state: LineageState) -> None:
    assert summary_of(lineage, newest, NOW_S).state is state


@pytest.mark.parametrize(
    ("following", "begins", "lost"),
    [
        (attempt(1, resume=checkpoint(4200)), 4200, 180),
        (attempt(1, resume=checkpoint(4200), first_step=4210), 4200, 180),  # a log line every 10 steps
        (attempt(1, resume=checkpoint(4200), first_step=1), 1, 4379),  # it did not resume
        (attempt(1), 0, 4380),
        (attempt(1, resume=replace(checkpoint(1), step=None)), None, None),
    ],
)
def test_lost_are_the_steps_that_the_next_attempt_repeats(
    following: Attempt, begins: int | None, lost: int | None
) -> None:
    assert (start_step(following), lost_steps(attempt(0, last_step=4380), following)) == (begins, lost)


def test_nothing_is_lost_before_another_attempt_follows() -> None:
    assert lost_steps(attempt(0, last_step=9), None) is None


def run(number: int, start_s: int, end_s: int | None, last_step: int | None, **more: object) -> Attempt:
    return attempt(number, started_s=start_s, ended_s=end_s, last_step=last_step, **more)


def test_the_training_time_ratio_counts_neither_repeated_steps_nor_waiting() -> None:
    first = run(0, 0, 1000, 100)  # its last 20 steps are repeated
    second = run(1, 1200, 2000, 160, resume=checkpoint(80))
    assert training_time_ratio((first, second), 2000, is_running=True) == (800 + 800) / 2000
    later = replace(second, ended_s=None)
    assert training_time_ratio((first, later), 1600, is_running=True) == (800 + 400) / 1600


@pytest.mark.parametrize(
    ("decision", "ratio"),
    [
        (Decision(Verdict.FINISHED, "success", "finished", NOW_S), 1.0),
        (restart_from(75), 0.75),  # at once after the end: no time to wait for has passed
        (replace(restart_from(75), checkpoint=None), None),
    ],
)
def test_the_steps_after_the_last_checkpoint_are_lost_unless_it_finished(
    decision: Decision, ratio: float | None
) -> None:
    assert training_time_ratio((run(0, 0, 100, 100, decision=decision),), 0, is_running=False) == ratio


@pytest.mark.parametrize(
    "attempts",
    [
        (),
        (attempt(0),),
        (run(0, 0, 1000, None), run(1, 1200, None, None, resume=checkpoint(80))),
    ],
)
def test_the_training_time_ratio_may_not_be_known(attempts: tuple[Attempt, ...]) -> None:
    assert training_time_ratio(attempts, 2000, is_running=True) is None


def test_an_attempt_that_waits_adds_nothing_but_the_time() -> None:
    first, waiting = run(0, 0, 1000, 100), attempt(1, resume=checkpoint(100))
    assert training_time_ratio((first, waiting), 2000, is_running=True) == 0.5
