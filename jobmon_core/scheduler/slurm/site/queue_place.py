"""Find the place of a job among the pending jobs of its partitions. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.pending.categories import category_of, is_eligible
from jobmon_core.domain.pending.model import QueuePlace
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.slurm import values
from jobmon_core.scheduler.slurm.site.commands import PLACE_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.domain.pending.model import PendingJob
    from jobmon_core.domain.slurm.job_ids import JobRef


def place_of(job: PendingJob, text: str) -> QueuePlace | None:
    """Return the place of ``job`` by the answer to `commands.waiting`; None if its priority is not known.

    The pending tasks of an array are one row, and count as one job. Jobs that cannot start yet, e.g. held
    ones, are not counted.
    """
    if job.priority is None:
        return None
    others = {ref: priority for ref, priority in _rows(text) if ref.job_id != job.ref.job_id}
    own = (-job.priority, job.ref.job_id)
    ahead = sum((-priority, ref.job_id) < own for ref, priority in others.items())
    return QueuePlace(ahead, len(others))


def _rows(text: str) -> Iterator[tuple[JobRef, int]]:
    for line in text.split("\n"):
        columns = line.split("|", PLACE_COLUMNS - 1)
        if len(columns) != PLACE_COLUMNS:
            continue
        job, priority = values.listed_id(columns[0]), values.number(columns[1])
        category = category_of(columns[3], JobState.from_slurm(columns[2]))
        if job is not None and priority and is_eligible(category):
            yield job[0], priority
