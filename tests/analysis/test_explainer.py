from __future__ import annotations

import os
from dataclasses import replace

import pytest

from jobmon_core.analysis.explainer import evidence_of, unique_job_id
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.domain.tracking.model import End, Source, Task, WatchedJob

JOB = WatchedJob("slurm-12-x", 12, 0.0)
ARRAY = replace(JOB, array_indices="1-3")


@pytest.mark.parametrize(
    ("job", "task", "expected"),
    [
        (JOB, Task(""), 12),
        (ARRAY, Task("1", raw_job_id=14), 14),
        (ARRAY, Task("3", raw_job_id=12), None),
        (ARRAY, Task("2"), None),
    ],
)
def test_the_id_of_an_array_is_not_unique_to_a_task(
    job: WatchedJob, task: Task, expected: int | None
) -> None:
    assert unique_job_id(job, task) == expected


@pytest.mark.parametrize(
    ("uid", "canceller"),
    [(None, ""), (os.getuid(), "you"), (1, "daemon"), (4_000_000_000, "user 4000000000")],
)
def test_the_user_who_cancelled_a_job_is_named(uid: int | None, canceller: str) -> None:
    end = End(JobState.CANCELLED, "CANCELLED", Outcome.CANCELLED, Source.ACCOUNTING, cancelled_by=uid)
    assert evidence_of(end).canceller == canceller
