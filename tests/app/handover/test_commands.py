"""Which tasks of an array a handover page submits again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.app.handover_facts import failed_indices
from jobmon_core.domain.job.tracking.model import Task
from jobmon_core.domain.slurm.states import JobState
from tests.support.job_records import failed, job_of, succeeded

RUNS = Task("3", JobState.RUNNING, "RUNNING")


@pytest.mark.parametrize(
    ("tasks", "indices", "found"),
    [
        ((failed(),), "", ""),  # a single job: all of it runs again
        ((succeeded(),), "", ""),
        ((failed("0"), failed("1"), succeeded("2")), "0-2", "0-1"),
        ((failed("0"), succeeded("2"), RUNS), "0-3", "0"),
        ((failed("0"), failed("1")), "0-1", ""),  # all of them
        ((succeeded("0"), succeeded("1")), "0-1", ""),
        ((failed("+0"), succeeded("+1")), "", ""),  # components of a het job
    ],
)
def test_only_the_failed_part_of_an_array_is_submitted_again(
    tasks: tuple[Task, ...], indices: str, found: str
) -> None:
    assert failed_indices(replace(job_of(*tasks), array_indices=indices)) == found
