"""Whether a job is over, and with which result: a pure decision about its record."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from jobmon_core.domain.decide import MAX_DIAGNOSED
from jobmon_core.domain.many.groups.member_view import view_of
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.scheduler.backends import cancel_command

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef


class Result(StrEnum):
    """What `jobmon wait` answers about a job, or about several."""

    RUNNING = "running"  # it has not ended, or its outcome is not known yet
    FAILURE = "failure"  # it failed, was cancelled or will never start
    UNKNOWN = "unknown"  # no outcome is known, and none will be
    SUCCESS = "success"


@dataclass(frozen=True, slots=True)
class Waited:
    """The answer about one job."""

    ref: JobRef | None  # the job, or the part of it that the user named; None if it was not submitted
    job: WatchedJob | None  # None if it has no state file that can be read
    result: Result
    why: str = ""  # why it is unknown or never starts, and what to do; of a forgotten job, its outcome
    run: str = ""  # its name in a group


def overall(results: Iterable[Result]) -> Result:
    """Return the result of several jobs: the worst one, but RUNNING until all are over; UNKNOWN if none."""
    order = list(Result)
    return min(results, key=order.index, default=Result.UNKNOWN)


def judge(job: WatchedJob, ref: JobRef, *, doubtful_fails: bool) -> Waited:
    """Return the answer about a job or the part of it that ``ref`` names.

    A job is over when its logs have been analysed and its messages are queued, so that a doubtful success
    shows and `jobmon diagnose` has its answer. ``doubtful_fails``: whether a doubtful success is a failure.
    """
    if (outcome := _outcome(job, ref)) is not None:
        is_doubtful = any(task.is_doubtful_success for task in _parts(job, ref))
        result = Result.FAILURE if is_doubtful and doubtful_fails else result_of(outcome)
        return Waited(ref, job, result, _why(job, outcome))
    if reason := view_of(job).never_starts:
        command = cancel_command(job)
        remedy = f"; `{command}` removes it" if command else ""
        return Waited(ref, job, Result.FAILURE, f"it will never start ({reason}){remedy}")
    if job.is_restarting:
        return Waited(ref, job, Result.RUNNING)
    if job.unwatched_s is not None:
        again = f"`jobmon watch {job.ref}` watches it again"
        return Waited(ref, job, Result.UNKNOWN, f"jobmon was asked to stop watching it; {again}")
    if job.closed:
        return Waited(ref, job, Result.UNKNOWN, f"job {job.ref} is over, and jobmon never saw this task")
    return Waited(ref, job, Result.RUNNING)


def _outcome(job: WatchedJob, ref: JobRef) -> Outcome | None:
    """Return the outcome once nothing will be added to it, else None."""
    if ref.key in ("", job.watched_part):
        return job.outcome if job.is_over else None
    task = job.tasks.get(ref.key)
    if task is None or task.end is None:
        return None
    ended = sum(each.end is not None for each in job.tasks.values())
    is_final = job.closed or task.diagnosis is not None or ended > MAX_DIAGNOSED
    return task.end.outcome if is_final else None


def _parts(job: WatchedJob, ref: JobRef) -> list[Task]:
    return [task for task in job.tasks.values() if ref.key in ("", job.watched_part, task.key)]


def result_of(outcome: Outcome) -> Result:
    """Return the result of a job with an outcome that is not doubtful."""
    match outcome:
        case Outcome.SUCCESS:
            return Result.SUCCESS
        case Outcome.FAILURE | Outcome.CANCELLED:
            return Result.FAILURE
        case Outcome.UNKNOWN:
            return Result.UNKNOWN
    assert_never(outcome)


def _why(job: WatchedJob, outcome: Outcome) -> str:
    if outcome is not Outcome.UNKNOWN:
        return ""
    notes = (task.end.why for task in job.tasks.values() if task.end and task.end.outcome is outcome)
    return f"{next(filter(None, notes), 'no source shows how it ended')}; check its output and files yourself"
