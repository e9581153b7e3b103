"""The tasks of a job together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.states import Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis


def with_diagnoses(job: WatchedJob, found: Mapping[str, Diagnosis]) -> WatchedJob:
    """Return a job with diagnoses of its tasks."""
    tasks = {key: job.tasks[key].diagnosed(diagnosis) for key, diagnosis in found.items()}
    return replace(job, tasks={**job.tasks, **tasks})


def waiting_task(job: WatchedJob) -> Task | None:
    """Return the task of a job that waits for its first start; None of an array, whose tasks wait longer."""
    tasks = [*job.tasks.values()]
    is_alone = len(tasks) == 1 and not job.is_array
    if not is_alone or tasks[0].state.phase is not Phase.WAITING or tasks[0].restarts:
        return None
    return None if tasks[0].end or tasks[0].inquiry else tasks[0]
