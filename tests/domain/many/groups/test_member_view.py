"""How a member of a group is, by the state of its job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.many.groups.member_view import MemberView, view_of
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.job_records import JOB, OOM, PENDING, RUNNING, failed, succeeded

NEVER = "DependencyNeverSatisfied"


def array(*tasks: Task, pending: str = "", reason: str = "") -> WatchedJob:
    job = replace(JOB, tasks={task.key: task for task in tasks}, array_indices="0-9")
    return replace(job, pending_indices=pending, pending_reason=reason)


@pytest.mark.parametrize(
    ("job", "state", "never_starts"),
    [
        (replace(JOB, tasks={"": PENDING}), "PENDING", ""),
        (replace(JOB, tasks={}), "PENDING", ""),
        (JOB, "RUNNING", ""),
        (replace(JOB, tasks={"": replace(PENDING, reason=NEVER)}), "PENDING", NEVER),
        (replace(JOB, tasks={"": replace(PENDING, reason="InvalidQOS")}), "PENDING", ""),  # can be mended
        (replace(JOB, tasks={}, unwatched_s=1.0), "UNWATCHED", ""),
        (array(replace(RUNNING, key="0"), replace(PENDING, key="1")), "RUNNING", ""),
        (array(pending="0-9", reason=NEVER), "PENDING", NEVER),
        (array(replace(RUNNING, key="0"), pending="1-9", reason="Priority"), "RUNNING", ""),
        (array(succeeded("0"), failed("1"), replace(RUNNING, key="2")), "RUNNING", ""),
        (array(succeeded("0"), failed("1")), "FAILED", ""),
    ],
)
def test_one_state_stands_for_all_tasks(job: WatchedJob, state: str, never_starts: str) -> None:
    view = view_of(job)
    assert (view.state, view.never_starts) == (state, never_starts)


def test_a_failure_has_its_cause_and_the_folder_of_its_log() -> None:
    job = replace(JOB, tasks={"": failed(diagnosis=OOM)}, logs=LogPaths(stdout="/w/logs/train.out"))
    view = view_of(replace(job, concluded_s=5.0))
    assert (view.outcome, view.cause, view.elapsed_s) == (Outcome.FAILURE, "CUDA out of memory", 60)
    assert (view.log_folder, view.is_over) == ("/w/logs/", True)


def test_a_failure_without_a_known_cause_has_its_exit_code_and_no_fingerprint() -> None:
    view = view_of(replace(JOB, tasks={"": failed()}))
    assert (view.cause, view.fingerprint, view.is_over) == ("exit code 1", "", False)


def test_the_end_of_an_array_is_that_of_its_last_task() -> None:
    late = succeeded("1")
    assert late.end
    job = array(succeeded("0"), replace(late, end=replace(late.end, ended_s=(late.end.ended_s or 0) + 40)))
    view = view_of(job)
    assert view.state == JobState.COMPLETED
    assert view.ended_s == (late.end.ended_s or 0) + 40


def test_a_job_whose_end_slurm_shows_is_ending_until_that_is_concluded() -> None:
    shown = replace(RUNNING, state=JobState.COMPLETED, raw_state="COMPLETED")
    assert view_of(replace(JOB, tasks={"": shown})).is_ending
    assert not view_of(JOB).is_ending
    assert not view_of(array(replace(shown, key="0"), pending="1-9")).is_ending
    assert not view_of(replace(JOB, tasks={"": succeeded("")})).is_ending


def test_each_task_of_an_array_counts() -> None:
    view = view_of(array(succeeded("0"), failed("1"), pending="2-4"))
    assert view.states == ("COMPLETED", "FAILED", "PENDING", "PENDING", "PENDING")
    assert view_of(array(succeeded("0"), failed("1"))).words == ("completed", "failed")
    assert (view_of(JOB).states, view_of(replace(JOB, tasks={"": failed()})).words) == (
        ("RUNNING",),
        ("failed",),
    )


def test_a_scheduler_that_does_not_answer_is_known_until_the_job_is_over() -> None:
    silent = replace(JOB, stale_since_s=5.0, stale_why="down")
    assert (view_of(silent).unanswered_since_s, view_of(silent).unanswered_why) == (5.0, "down")
    assert view_of(replace(silent, unwatched_s=9.0)).unanswered_since_s is None


def test_a_run_that_was_not_submitted_is_not_over() -> None:
    assert MemberView().state == "NOT_SUBMITTED"
    assert not MemberView().is_over
