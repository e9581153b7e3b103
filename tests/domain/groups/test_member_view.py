"""How a member of a group is, by the state of its job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.groups.member_view import MemberView, view_of
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.domain.tracking.model import Task, WatchedJob
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


def test_a_run_that_was_not_submitted_is_not_over() -> None:
    assert MemberView().state == "NOT_SUBMITTED"
    assert not MemberView().is_over
