from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.before.pending.model import Category
from jobmon_core.domain.before.pending.wait import held_text, wait_json, wait_of, wait_text
from jobmon_core.domain.job.tracking.model import End, Source, StateChange, Task
from jobmon_core.domain.slurm.states import JobState, Outcome

SUBMITTED_S = 10_000
STARTED_S = SUBMITTED_S + 7800  # 2 h 10 min later


def ran(*changes: tuple[str, float], eligible_s: int | None = None) -> Task:
    """Return a task that waited; ``changes`` are reasons and the seconds after the submission."""
    end = End(
        JobState.COMPLETED,
        "COMPLETED",
        Outcome.SUCCESS,
        Source.QUEUE,
        started_s=STARTED_S,
        ended_s=STARTED_S + 60,
        eligible_s=eligible_s,
    )
    history = tuple(StateChange("PENDING", SUBMITTED_S + at_s, reason) for reason, at_s in changes)
    return Task("", JobState.COMPLETED, "COMPLETED", submit_s=SUBMITTED_S, history=history, end=end)


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (ran(), "2h 10m"),
        (ran(eligible_s=SUBMITTED_S), "2h 10m"),
        # only Slurm's figure: jobmon did not look while the job was held
        (ran(eligible_s=SUBMITTED_S + 5400), "2h 10m (1h 30m held)"),
        (ran(("Priority", 6000), eligible_s=SUBMITTED_S + 5400), "2h 10m (1h 30m held)"),
        # both: a release ends at Slurm's time, not at jobmon's next look
        (ran(("JobHeldUser", 30), ("Priority", 5600), eligible_s=SUBMITTED_S + 5400), "2h 10m (1h 30m held)"),
        # without accounting, what jobmon saw
        (ran(("JobHeldAdmin", 0), ("Resources", 5400)), "2h 10m (1h 30m held)"),
        (ran(("Dependency", 0), ("Resources", 5400)), "2h 10m (1h 30m for its dependency)"),
        (
            ran(
                ("BeginTime", 60),
            ),
            "2h 10m (2h 10m until its begin time)",
        ),
        # held later, although Slurm's time of eligibility is that of the submission
        (
            ran(("Priority", 0), ("JobHeldUser", 600), ("Priority", 1200), eligible_s=SUBMITTED_S),
            "2h 10m (10m held)",
        ),
        # a release moves Slurm's time: the time before the hold still counts as eligible
        (
            ran(("Priority", 0), ("JobHeldUser", 600), ("Priority", 1260), eligible_s=SUBMITTED_S + 1200),
            "2h 10m (10m held)",
        ),
        # a moment is not worth a word
        (ran(eligible_s=SUBMITTED_S + 59), "2h 10m"),
    ],
)
def test_the_wait_is_split(task: Task, text: str) -> None:
    wait = wait_of(task)
    assert wait
    assert wait_text(wait) == text


def test_the_wait_of_an_earlier_run_does_not_count() -> None:
    earlier = (StateChange("PENDING", 100.0, "JobHeldUser"), StateChange("RUNNING", 8000.0))
    task = ran(("Priority", 5), eligible_s=SUBMITTED_S)
    wait = wait_of(replace(task, history=(*earlier, *task.history)))
    assert wait
    assert (wait.waited_s, wait.held_s, wait.held_for) == (7800, 0, None)


def test_a_running_task_has_waited_and_a_pending_one_has_not_yet() -> None:
    running = Task("", JobState.RUNNING, "RUNNING", submit_s=SUBMITTED_S, start_s=STARTED_S)
    assert wait_json(running) == {
        "waited_s": 7800,
        "held_s": 0,
        "eligible_s": 7800,
        "running_s": None,
    }
    expected = replace(running, state=JobState.PENDING, raw_state="PENDING")  # start_s is an estimate
    assert wait_of(expected) is None
    assert wait_of(Task("")) is None


def test_json_has_the_three_parts() -> None:
    task = ran(("Dependency", 0), ("Priority", 600), eligible_s=SUBMITTED_S + 600)
    wait = wait_of(task)
    assert wait
    assert wait.held_for is Category.DEPENDENCY
    assert held_text(wait) == " (10m for its dependency)"
    assert wait_json(task) == {"waited_s": 7800, "held_s": 600, "eligible_s": 7200, "running_s": 60}
