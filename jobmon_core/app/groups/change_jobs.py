"""Use cases: cancel, hold or release the jobs of a group, through the scheduler's own commands."""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, assert_never

from jobmon_core.domain.errors import SchedulerMissing

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
    error: str = ""  # in the scheduler's own words; then some or all of the jobs may be unchanged


def change_jobs(ctx: Context, change: Change, jobs: Sequence[WatchedJob]) -> Iterator[Changed]:
    """Change jobs, with one command for all of a cluster; yield the answer of each cluster."""
    by_cluster: dict[tuple[str, str], list[JobRef]] = defaultdict(list)
    for job in jobs:
        by_cluster[job.backend, job.cluster if job.remote else ""].append(job.ref)
    for (backend, cluster), refs in by_cluster.items():
        try:
            error = _apply(ctx.job_control(backend, cluster), change, refs)
        except SchedulerMissing as missing:
            error = str(missing)
        yield Changed(tuple(refs), error)


def _apply(control: JobControl, change: Change, refs: Sequence[JobRef]) -> str:
    match change:
        case Change.CANCEL:
            return control.cancel(refs)
        case Change.HOLD:
            return control.hold(refs)
        case Change.RELEASE:
            return control.release(refs)
    assert_never(change)
