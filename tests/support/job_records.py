"""Jobs as state files hold them, and their status, for tests of screens."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.model import Diagnosis, Line
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.lifecycle.health import Health, JobStatus
from jobmon_core.store.owner import Owner

NOW_S = 1_700_000_000.0
OWNER = Owner("login2", "boot", 4711, 1)
RUNNING = Task("", JobState.RUNNING, "RUNNING")
PENDING = Task("", JobState.PENDING, "PENDING", reason="Priority")
JOB = WatchedJob("slurm-12-x", 12, NOW_S, name="train", answered_s=NOW_S, tasks={"": RUNNING})
ENTRY = OutboxEntry(Message("m", Route.ERROR, Tone.FAILURE, "train failed"))
OOM = Diagnosis(
    "cuda_oom",
    "CUDA out of memory",
    "A GPU had too little free memory.",
    "Lower the batch size of JOBID.",
    evidence=(
        Line("/w/train.err", 7, "torch.OutOfMemoryError: CUDA out of memory. " + "Tried to allocate " * 5),
    ),
    log_path="/w/train.err",
    is_proved=True,
)


def ended(
    state: JobState, outcome: Outcome, key: str = "", exit_code: int = 0, diagnosis: Diagnosis | None = None
) -> Task:
    """Return a task that ran for a minute."""
    end = End(
        state,
        state.value,
        outcome,
        Source.QUEUE,
        exit_code=exit_code,
        started_s=int(NOW_S),
        ended_s=int(NOW_S) + 60,
    )
    return Task(key, state, state.value, end=end, diagnosis=diagnosis)


def succeeded(key: str = "") -> Task:
    """Return a task that completed."""
    return ended(JobState.COMPLETED, Outcome.SUCCESS, key)


def failed(key: str = "", diagnosis: Diagnosis | None = None) -> Task:
    """Return a task that failed with exit code 1."""
    return ended(JobState.FAILED, Outcome.FAILURE, key, 1, diagnosis)


def job_of(
    *tasks: Task, job_id: int = 12, name: str = "train", concluded_s: float | None = None
) -> WatchedJob:
    """Return a job with these tasks."""
    return replace(
        JOB,
        id=f"slurm-{job_id}-x",
        job_id=job_id,
        name=name,
        tasks={task.key: task for task in tasks},
        concluded_s=concluded_s,
    )


def status_of(job: WatchedJob, health: Health = Health.ALIVE) -> JobStatus:
    """Return the status of a job whose monitor runs as `OWNER`."""
    return JobStatus(job, health, OWNER)
