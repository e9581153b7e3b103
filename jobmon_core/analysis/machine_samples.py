"""For jobs without agents, store the use of their machines where an agent would store what it measures."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.slurm.states import Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.node.telemetry.model import Sample
    from jobmon_core.store.telemetry import TaskTelemetry


def add_machine_samples(
    jobs: Iterable[WatchedJob],
    sample_of: Callable[[WatchedJob], Sample | None],
    telemetry_of: Callable[[str, str], TaskTelemetry],
) -> None:
    """Add the latest figures of the machine of each running job, unless they are there already."""
    for job in jobs:
        for task in job.tasks.values():
            if task.end or task.state.phase is not Phase.ACTIVE:
                continue
            sample = sample_of(job)
            if sample is None:
                continue
            with suppress(OSError, StorageFailed):  # a full disk here must not stop the reading of logs
                telemetry_of(job.id, task.key).add(sample)
