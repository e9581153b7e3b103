from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.app.jobs.find import (
    RECENT_S,
    Selection,
    StateGroup,
    counts,
    fitting,
    group_of,
    is_recent,
    running_tasks,
    select,
)
from jobmon_core.domain.job.tracking.model import EndInquiry, WatchedJob
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.lifecycle.health import Health, JobStatus
from tests.support.job_records import (
    ENTRY,
    JOB,
    NOW_S,
    OOM,
    PENDING,
    RUNNING,
    ended,
    failed,
    job_of,
    status_of,
    succeeded,
)

UNKNOWN = ended(JobState.UNKNOWN, Outcome.UNKNOWN)
LEFT_QUEUE = replace(RUNNING, key="1", inquiry=EndInquiry(NOW_S, NOW_S))
JOBS = [
    status_of(job_of(RUNNING, job_id=30, name="train-a")),
    status_of(job_of(PENDING, job_id=4, name="eval")),
    status_of(job_of(failed(), job_id=5, name="train-b", concluded_s=NOW_S - 100), Health.DONE),
    status_of(job_of(succeeded(), job_id=6, name="prep", concluded_s=NOW_S - 5000), Health.DONE),
    status_of(job_of(UNKNOWN, job_id=7, name="prep", concluded_s=NOW_S - 2 * RECENT_S), Health.DONE),
    status_of(
        replace(job_of(failed("1"), replace(RUNNING, key="2"), job_id=8, name="sweep"), array_indices="1-2")
    ),
]


def selected(selection: Selection) -> list[int]:
    return [each.job.job_id for each in select(JOBS, selection, NOW_S).jobs]


@pytest.mark.parametrize(
    ("selection", "ids"),
    [
        (Selection(), [4, 5, 6, 8, 30]),
        (Selection(all=True), [4, 5, 6, 7, 8, 30]),
        (Selection(failed=True), [5, 8]),
        (Selection(failed=True, all=True), [5, 7, 8]),
        (Selection(running=True), [8, 30]),
        (Selection(running=True, pending=True), [4, 8, 30]),
        (Selection(name="train*"), [5, 30]),
        (Selection(name="train"), []),
        (Selection(since_s=NOW_S - 1000), [4, 5, 8, 30]),
        (Selection(since_s=0), [4, 5, 6, 7, 8, 30]),
        (Selection(limit=2), [8, 30]),
        (Selection(limit=0), []),
        (Selection(refs=(JobRef(7), JobRef(8, task=2))), [7, 8]),
        (Selection(refs=(JobRef(8),), failed=True, name="s*"), [8]),
    ],
)
def test_jobs_are_selected_and_sorted_by_id(selection: Selection, ids: list[int]) -> None:
    assert selected(selection) == ids


def test_a_doubtful_success_is_listed_with_the_failures() -> None:
    doubtful = replace(succeeded("1"), diagnosis=OOM)
    jobs = [
        status_of(job_of(doubtful, job_id=1)),
        status_of(job_of(replace(succeeded(), diagnosis=replace(OOM, cause=None)), job_id=2)),
        status_of(replace(job_of(doubtful, replace(RUNNING, key="2"), job_id=3), array_indices="1-2")),
    ]
    assert [each.job.job_id for each in select(jobs, Selection(failed=True), NOW_S).jobs] == [1, 3]


@pytest.mark.parametrize(
    ("heights", "room", "shown"),
    [
        ([1] * 5, 9, [0, 1, 2, 3, 4]),
        ([1] * 5, 5, [0, 1, 2, 3, 4]),
        ([1] * 5, 4, [0, 2, 3, 4]),
        ([1] * 5, 3, [2, 3, 4]),
        ([1] * 5, 1, [3]),
        ([1] * 5, 0, []),
        ([1] * 5, -3, []),
        ([1, 1, 1, 3, 2], 5, [3, 4]),
        ([1, 1, 1, 3, 2], 4, [3]),
    ],
)
def test_of_too_many_jobs_successes_then_others_that_do_not_run_and_of_these_the_oldest_are_hidden(
    heights: list[int], room: int, shown: list[int]
) -> None:
    doubtful = replace(succeeded(), diagnosis=OOM)
    jobs = [status_of(job_of(task)) for task in (doubtful, succeeded(), failed(), RUNNING, PENDING)]
    assert fitting(jobs, heights, room) == shown


def test_of_successes_the_oldest_are_hidden_first() -> None:
    jobs = [status_of(job_of(task)) for task in (RUNNING, succeeded(), succeeded())]
    assert fitting(jobs, [1] * 3, 2) == [0, 2]


def test_what_is_left_out_is_counted() -> None:
    result = select(JOBS, Selection(limit=2), NOW_S)
    assert (result.older, result.beyond_limit) == (1, 3)


def test_the_short_list_holds_active_undelivered_and_recent_jobs() -> None:
    concluded = replace(JOB, concluded_s=2000.0)
    later_s = 2000.0 + RECENT_S
    assert is_recent(JobStatus(concluded, Health.DONE), later_s - 1)
    assert not is_recent(JobStatus(concluded, Health.DONE), later_s)
    assert is_recent(JobStatus(JOB, Health.DEAD), later_s * 9)
    assert is_recent(JobStatus(replace(concluded, outbox=(ENTRY,)), Health.DONE), later_s * 9)


@pytest.mark.parametrize(
    ("job", "group"),
    [
        (replace(JOB, tasks={}, answered_s=None), StateGroup.PENDING),
        (job_of(PENDING), StateGroup.PENDING),
        (job_of(RUNNING), StateGroup.RUNNING),
        (replace(job_of(succeeded("1")), pending_indices="2-3"), StateGroup.PENDING),
        (replace(JOB, unwatched_s=1.0), StateGroup.UNWATCHED),
        (job_of(succeeded("1"), failed("2")), StateGroup.FAILED),
        (job_of(UNKNOWN), StateGroup.UNKNOWN),
        (replace(job_of(LEFT_QUEUE), pending_indices="2-5"), StateGroup.PENDING),
        (job_of(LEFT_QUEUE, replace(PENDING, key="2")), StateGroup.PENDING),
        (job_of(LEFT_QUEUE, replace(RUNNING, key="2")), StateGroup.RUNNING),
        (job_of(LEFT_QUEUE, succeeded("2")), StateGroup.ENDING),
    ],
)
def test_each_job_counts_in_one_group(job: WatchedJob, group: StateGroup) -> None:
    assert group_of(job) is group
    assert counts([status_of(job)]) == [(group, 1)]
    assert group is not StateGroup.RUNNING or running_tasks(job)


def test_a_part_of_a_job_is_sorted_after_the_job() -> None:
    parts = [status_of(replace(JOB, watched_part=part)) for part in ("10", "9", "")]
    assert [each.job.watched_part for each in select(parts, Selection(), NOW_S).jobs] == ["", "9", "10"]
