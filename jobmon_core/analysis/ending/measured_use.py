"""Read what jobmon's agents measured of an ended run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.job.report.usage import NodeHistory, measured_use

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmon_core.domain.job.tracking.model import WatchedJob
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
        end = job.tasks[key].end
        if end is not None and end.started_s is not None:
            nodes = node_histories(telemetry_of(job.id, key), end.started_s)
            with_use[key] = replace(diagnosis, measured=measured_use(nodes) if nodes else None)
    return with_use
