"""Watch a closed job again, and tell several records of one job, as `jobmon watch` makes them, apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jobmon_core.domain.backends import uses_slurm
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.slurm.states import Outcome

_REMEMBERED_S = 300.0  # how long slurmctld remembers an ended job by default (MinJobAge)


def is_same_submission(job: WatchedJob, submit_s: int | None) -> bool:
    """Whether a submission at ``submit_s`` belongs to a closed job.

    A newer job with the same id, or a new run, was submitted after jobmon had stopped watching.
    """
    closed_s = job.concluded_s or job.unwatched_s
    return submit_s is None or closed_s is None or submit_s <= closed_s


def may_be_requeued(job: WatchedJob, now_s: float) -> bool:
    """Whether ``scontrol requeue`` may run a failed job again, whose end was reported."""
    failed = job.outcome is Outcome.FAILURE and job.unwatched_s is None and uses_slurm(job.backend)
    return failed and job.concluded_s is not None and now_s < job.concluded_s + _REMEMBERED_S


def reopened_if_requeued(job: WatchedJob, after: WatchedJob) -> WatchedJob:
    """Return a closed job, as one to watch again if a later answer of squeue (``after``) voided an end."""
    return job if after.ended else reopened(after)


def reopened(job: WatchedJob) -> WatchedJob:
    """Return a closed job as one to watch again; proved ends, log paths and the state history stay."""
    return replace(
        job,
        tasks={key: _reopened_task(task) for key, task in job.tasks.items()},
        outbox=tuple(entry for entry in job.outbox if entry.is_open),
        concluded_s=None,
        unwatched_s=None,
        decision=None,
        restart_due_s=None,
        record_due_s=None,
        stale_since_s=None,
        stale_why="",
        card=replace(job.card, closed=False, problem=""),
    )


def _reopened_task(task: Task) -> Task:
    if task.end is not None and task.end.outcome is Outcome.UNKNOWN:
        return replace(task, end=None, inquiry=None, diagnosis=None)
    return replace(task, diagnosis=None)


def without_duplicates(jobs: Iterable[WatchedJob]) -> list[WatchedJob]:
    """Return one record for each job, oldest first: one that is still watched, else the most complete one.

    Records with the same id are of different jobs if Slurm reused the id.
    """
    records: dict[tuple[str, str], list[WatchedJob]] = {}
    for job in sorted(jobs, key=lambda each: each.registered_s):
        same_id = records.setdefault((job.backend, str(job.ref)), [])
        earlier = next((each for each in same_id if _is_same_submission(each, job)), None)
        if earlier is None:
            same_id.append(job)
        elif _completeness(job) >= _completeness(earlier):
            same_id[same_id.index(earlier)] = job
    return sorted((job for same_id in records.values() for job in same_id), key=lambda job: job.registered_s)


def _completeness(job: WatchedJob) -> tuple[bool, bool]:
    return not job.closed, job.outcome not in (None, Outcome.UNKNOWN)


def _is_same_submission(earlier: WatchedJob, later: WatchedJob) -> bool:
    if "" not in (earlier.cluster, later.cluster) and earlier.cluster != later.cluster:
        return False
    if later.is_own_run(earlier.submitted_s):
        return True
    # a record made after a requeue knows only the later submission
    return earlier.is_own_run(later.submitted_s) and is_same_submission(earlier, later.submitted_s)
