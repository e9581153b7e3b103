"""Read what jobmon's agents measured of an ended run."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from jobmon_core.domain.job.report.usage import NodeHistory, measured_use

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis
    from jobmon_core.store.telemetry import TaskTelemetry

# what was measured up to this long before the start belongs to the run: the clocks of nodes differ
MAX_CLOCK_SKEW_S = 60.0


def node_histories(telemetry: TaskTelemetry, start_s: float) -> tuple[NodeHistory, ...]:
    """Return, by node, what agents measured of the run that started at ``start_s``."""
    return tuple(
        NodeHistory(
            node,
            tuple(each for each in telemetry.history(node) if each.at_s >= start_s - MAX_CLOCK_SKEW_S),
            telemetry.report(node).unavailable,
        )
        for node in telemetry.nodes()
    )


def with_measured_use(
    job: WatchedJob, found: Mapping[str, Diagnosis], telemetry_of: Callable[[str, str], TaskTelemetry]
) -> dict[str, Diagnosis]:
    """Return the diagnoses with what agents measured of the runs of these tasks."""
    with_use = dict(found)
    for key, diagnosis in found.items():
        nodes = nodes_of(job, job.tasks[key], telemetry_of)
        if nodes:
            with_use[key] = replace(diagnosis, measured=measured_use(nodes))
    return with_use


def nodes_of(
    job: WatchedJob, task: Task, telemetry_of: Callable[[str, str], TaskTelemetry]
) -> tuple[NodeHistory, ...]:
    """Return, by node, what agents measured of the run of an ended task; nothing if it never started."""
    if task.end is None or task.end.started_s is None:
        return ()
    return _of_one(telemetry_of(job.id, task.key), task.end.started_s)


# several steps of a child need what may be megabytes, and most jobs have one task
_of_one = lru_cache(maxsize=1)(node_histories)
