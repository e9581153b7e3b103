"""Lineages as they are stored, with the records of their jobs."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.context import Context
from jobmon_core.domain.job.job_settings import AttemptPlace, JobSettings, RestartMode, RestartSettings
from jobmon_core.domain.job.restart.model import Attempt, Decision, Lineage, PickedCheckpoint, Verdict
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.store.lineages import RecordedSubmission
from tests.support.job_records import NOW_S, RUNNING, ended, job_of

SECRET = "hunter2-of-the-environment"
NODE_FAIL = ended(JobState.NODE_FAIL, Outcome.FAILURE)

START_S = 1_764_000_000  # of the first attempt
ATTEMPT_S = 2000  # from the start of one attempt to that of the next


def checkpoint(step: int) -> PickedCheckpoint:
    """Return a picked checkpoint."""
    return PickedCheckpoint(f"/w/ckpt/step-{step}", step, NOW_S)


def restart_from(step: int, cause: str = "node_fail") -> Decision:
    """Return the decision to restart a job after a node failure."""
    return Decision(
        *(Verdict.RESTART, "node", "a node failed, and a checkpoint is complete", NOW_S, cause, "node", 1, 5),
        checkpoint(step),
        NOW_S + 60,
    )


def lineage_of(*attempts: Attempt, ended_why: str = "", is_held: bool = False) -> Lineage:
    """Return a lineage."""
    return Lineage("7f3a", NOW_S, RestartSettings(RestartMode.ON), attempts, None, is_held, ended_why)


def attempt(number: int, **more: object) -> Attempt:
    """Return the attempt 0, 1, ... with the job 8123, 8124, ..."""
    return replace(Attempt(number, state_id(number), str(8123 + number), "slurm"), **more)  # type: ignore[arg-type] # any field


def state_id(number: int) -> str:
    """Return the state id of an attempt's job."""
    return f"slurm-{8123 + number}-x"


def job_of_attempt(number: int, task: Task = RUNNING, **more: object) -> WatchedJob:
    """Return the record of an attempt's job."""
    settings = JobSettings(attempt=AttemptPlace("7f3a", number))
    job = job_of(task, job_id=8123 + number, concluded_s=NOW_S if task.end else None)
    return replace(job, settings=settings, registered_s=NOW_S + number, **more)  # type: ignore[arg-type] # any field


def timed_job(settings: JobSettings, *, ended: bool = True, **more: object) -> WatchedJob:
    """Return the job of an attempt that runs, or has failed after 1,000 s."""
    number = settings.attempt.number if settings.attempt else 0
    start_s = START_S + ATTEMPT_S * number
    failed = JobState.FAILED
    end = End(failed, "FAILED", Outcome.FAILURE, Source.QUEUE, started_s=start_s, ended_s=start_s + 1000)
    state = failed if ended else JobState.RUNNING
    task = Task("", state, state.name, start_s=start_s, end=end if ended else None)
    job = WatchedJob(f"slurm-{number}-x", number, float(start_s), tasks={"": task}, settings=settings)
    return replace(job, **more)  # type: ignore[arg-type] # any field


def save(ctx: Context, lineage: Lineage, *jobs: WatchedJob) -> None:
    """Store a lineage, its private file, and the records of its jobs."""
    ctx.lineages.update(lineage.id, lambda _: lineage)
    recorded = RecordedSubmission(("train.sbatch",), "/w", {"API_KEY": SECRET})
    ctx.lineages.submission(lineage.id).write(recorded)
    for job in jobs:
        ctx.store.save(job)
