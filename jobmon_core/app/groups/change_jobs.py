"""Use cases: cancel, hold or release the jobs of a group, through the scheduler's own commands."""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, assert_never

from jobmon_core.domain.errors import SchedulerMissing
from jobmon_core.scheduler.backends import cancel_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.scheduler.base import JobControl


class Change(StrEnum):
    """What is done with jobs."""

    CANCEL = "cancel"
    HOLD = "hold"
    RELEASE = "release"


class Changed(NamedTuple):
    """The answer of one scheduler."""

    refs: tuple[JobRef, ...]
    error: str = ""  # empty if there is none; else some or all of the jobs may be unchanged


def change_jobs(ctx: Context, change: Change, jobs: Sequence[WatchedJob]) -> Iterator[Changed]:
    """Change jobs, those of each cluster together; yield the answer of each cluster."""
    by_cluster: dict[tuple[str, str], list[WatchedJob]] = defaultdict(list)
    for job in jobs:
        by_cluster[job.backend, job.cluster if job.remote else ""].append(job)
    for (backend, cluster), there in by_cluster.items():
        refs = tuple(job.ref for job in there)
        try:
            error = _apply(ctx.job_control(backend, cluster), change, refs)
        except SchedulerMissing as missing:
            error = f"{missing}{_own_commands(there) if change is Change.CANCEL else ''}"
        yield Changed(refs, error)


def _own_commands(jobs: Sequence[WatchedJob]) -> str:
    """Return how the user can cancel jobs that jobmon cannot, as the rest of a sentence."""
    commands = [cancel_command(job) for job in jobs]
    return f"; run `{' ; '.join(commands)}`" if all(commands) else ""


def _apply(control: JobControl, change: Change, refs: Sequence[JobRef]) -> str:
    match change:
        case Change.CANCEL:
            return control.cancel(refs)
        case Change.HOLD:
            return control.hold(refs)
        case Change.RELEASE:
            return control.release(refs)
    assert_never(change)
