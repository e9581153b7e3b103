"""The phase of a job, for scripts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.app.live.tasks import JobPhase, phase_of
from jobmon_core.domain.job.job_progress import FollowedTask, JobProgress
from jobmon_core.domain.job.tracking.model import End, EndInquiry, Source, Task, WatchedJob
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.lifecycle.health import Health, JobStatus
from tests.support.job_records import NOW_S, PENDING, job_of
from tests.support.live_jobs import progress_of, running_task

RUNNING = job_of(running_task())
STALLED = Event(NOW_S - 60, EventKind.STALLED, "no progress for 12m")


def phase(job: WatchedJob, followed: FollowedTask | None = None, *events: Event) -> JobPhase | None:
    progress = JobProgress(NOW_S, {"": followed} if followed else {}, events)
    return phase_of(JobStatus(job, Health.ALIVE, None), progress, NOW_S)


def test_a_running_job_launches_until_it_writes_then_runs_and_completes_when_all_is_done() -> None:
    assert phase(RUNNING) is JobPhase.LAUNCHING
    assert phase(RUNNING, FollowedTask(has_output=True)) is JobPhase.RUNNING
    assert phase(RUNNING, progress_of(10, 100)) is JobPhase.RUNNING
    assert phase(RUNNING, progress_of(100, 100)) is JobPhase.COMPLETING


def test_a_stall_is_a_phase_until_the_job_moves_again() -> None:
    moves = Event(NOW_S, EventKind.RECOVERED, "moves again", ended=EventKind.STALLED)
    assert phase(RUNNING, progress_of(10, 100), STALLED) is JobPhase.STALLED
    assert phase(RUNNING, progress_of(10, 100), STALLED, moves) is JobPhase.RUNNING


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome.SUCCESS, JobPhase.COMPLETED),
        (Outcome.FAILURE, JobPhase.FAILED),
        (Outcome.CANCELLED, None),
        (Outcome.UNKNOWN, None),
    ],
)
def test_an_ended_job_is_completed_failed_or_in_no_phase(outcome: Outcome, expected: JobPhase | None) -> None:
    end = End(JobState.COMPLETED, "COMPLETED", outcome, Source.QUEUE)
    assert phase(job_of(replace(running_task(), end=end)), progress_of(10, 100), STALLED) is expected


def test_a_job_that_left_the_queue_completes_and_a_pending_one_is_in_no_phase() -> None:
    left = replace(running_task(), inquiry=EndInquiry(NOW_S - 5, NOW_S - 5))
    assert phase(job_of(left), progress_of(10, 100)) is JobPhase.COMPLETING
    assert phase(job_of(PENDING)) is None


def test_of_an_array_a_stalled_task_counts_first() -> None:
    tasks: dict[str, Task] = {key: running_task(key) for key in ("1", "2")}
    progress = JobProgress(NOW_S, {"1": progress_of(10, 100)}, (replace(STALLED, task="1"),))
    job = replace(RUNNING, tasks=tasks)
    assert phase_of(JobStatus(job, Health.ALIVE, None), progress, NOW_S) is JobPhase.STALLED


def test_a_job_that_is_nearly_done_is_completing() -> None:
    assert phase(RUNNING, progress_of(9990, 10_000)) is JobPhase.COMPLETING
    assert phase(RUNNING, progress_of(9980, 10_000)) is JobPhase.RUNNING
