"""Which jobs of a group a command changes."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.app.groups.jobs import GroupRun, alive_jobs
from jobmon_core.domain.job.tracking.model import EndInquiry, Task
from jobmon_core.domain.many.groups.model import Member
from jobmon_core.domain.slurm.states import JobState
from tests.support.job_records import NOW_S, PENDING, RUNNING, job_of, status_of, succeeded


def _left_the_queue_as(state: JobState | None) -> Task:
    return replace(RUNNING, inquiry=EndInquiry(NOW_S, NOW_S, queue_state=state))


def test_a_job_that_ended_without_its_outcome_being_known_yet_is_not_cancelled() -> None:
    tasks = {
        1: PENDING,
        2: RUNNING,
        3: succeeded(),
        4: _left_the_queue_as(JobState.COMPLETED),
        5: _left_the_queue_as(JobState.NODE_FAIL),  # Slurm may requeue it
        6: _left_the_queue_as(None),  # nothing shows that it ended
    }
    runs = [
        GroupRun(str(job_id), Member(), status_of(job_of(task, job_id=job_id)))
        for job_id, task in tasks.items()
    ]
    assert [job.job_id for job in alive_jobs(runs)] == [1, 2, 5, 6]
