from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.job.tracking.agent_plan import (
    AgentAttempts,
    keeps_agent,
    may_have_agent,
    reporting_since_s,
    run_of,
)
from jobmon_core.domain.job.tracking.model import EndInquiry, StateChange, Task, WatchedJob
from jobmon_core.domain.slurm.states import JobState

RUNNING = Task("", JobState.RUNNING, "RUNNING", start_s=1000)
JOB = WatchedJob("slurm-12-x", 12, 900.0, tasks={"": RUNNING})


def test_the_first_agent_starts_three_seconds_after_the_task() -> None:
    assert AgentAttempts(run_s=1000.0).start_due_s() == 1003.0


def test_an_agent_that_fails_is_started_again_after_growing_waits_and_then_given_up() -> None:
    attempts, waits = AgentAttempts(run_s=1000.0), []
    for number in range(4):
        attempts = attempts.after_end(2000.0 + number, "srun: error: refused")
        waits.append(attempts.start_due_s() - 2000.0 - number)
        attempts = replace(attempts, started_s=2000.0 + number)
    assert waits == [5.0, 30.0, 120.0, 600.0]
    assert attempts.after_end(3000.0, "refused").start_due_s() == float("inf")


def test_an_agent_that_died_for_want_of_memory_leaves_the_job_time_to_free_some() -> None:
    attempts = AgentAttempts(run_s=1000.0).after_end(2000.0, "Killed", is_memory_short=True)
    assert attempts.start_due_s() == 2600.0
    assert attempts.after_end(2700.0, "srun: error: refused").start_due_s() == 2730.0


def test_failures_before_an_agent_that_lived_for_an_hour_do_not_count() -> None:
    attempts = AgentAttempts(run_s=1000.0, failures=4, started_s=2000.0)
    assert attempts.after_end(2000.0 + 3600.0, "killed").start_due_s() == 2000.0 + 3600.0 + 5.0


def test_an_agent_that_ends_with_its_task_has_not_failed() -> None:
    attempts = AgentAttempts(run_s=1000.0, started_s=1003.0).after_end(2001.0, "it ended without a message")
    assert attempts.after_task(2000.0).problem == ""
    assert attempts.after_task(None) == attempts.after_task(9000.0) == attempts


@pytest.mark.parametrize(
    ("state", "has", "keeps"),
    [
        (JobState.RUNNING, True, False),
        (JobState.SUSPENDED, False, True),
        (JobState.COMPLETING, False, False),
        (JobState.PENDING, False, False),
        (JobState.UNKNOWN, False, False),
    ],
)
def test_only_a_running_task_gets_an_agent_and_a_suspended_one_keeps_it(
    state: JobState, *, has: bool, keeps: bool
) -> None:
    task = replace(RUNNING, state=state)
    assert (may_have_agent(task), keeps_agent(task)) == (has, keeps)


def test_a_task_whose_end_is_being_confirmed_gets_no_agent() -> None:
    assert not may_have_agent(replace(RUNNING, inquiry=EndInquiry(1.0, 1.0)))


def test_a_run_is_dated_by_slurm_or_by_when_it_was_first_seen() -> None:
    seen = Task("", JobState.RUNNING, "RUNNING", history=(StateChange("RUNNING", 1001.5),))
    assert (run_of(RUNNING), run_of(seen), run_of(Task(""))) == (1000.0, 1001.5, 0.0)


def test_a_job_is_reported_since_the_last_of_its_tasks_is() -> None:
    array = replace(JOB, tasks={key: replace(RUNNING, key=key) for key in "12"})
    assert reporting_since_s(JOB, {"": 1010.0}) == 1010.0
    assert reporting_since_s(array, {"1": 1010.0, "2": 1030.0}) == 1030.0


@pytest.mark.parametrize(
    "job",
    [
        replace(JOB, pending_indices="7-9"),
        replace(JOB, stale_since_s=1500.0),
        replace(JOB, tasks={"": RUNNING, "+1": replace(RUNNING, key="+1", state=JobState.PENDING)}),
        replace(JOB, tasks={"": replace(RUNNING, state=JobState.COMPLETING)}),
        replace(JOB, tasks={}),
    ],
)
def test_a_job_is_not_reported_while_agents_cannot_see_all_of_it(job: WatchedJob) -> None:
    assert reporting_since_s(job, {"": 1010.0}) is None


def test_a_silent_agent_ends_the_time_in_which_a_job_is_reported() -> None:
    assert reporting_since_s(JOB, {"": None}) is None
    assert reporting_since_s(JOB, {}) is None
