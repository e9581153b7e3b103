"""The files of an ended job."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.store.telemetry import TaskTelemetry


class EndFiles(NamedTuple):
    """Where the files of a job are."""

    read_progress: Callable[[], JobProgress]
    bundle_path: Callable[[str, str], Path]  # of the state id of a job and the key of a task
    telemetry_of: Callable[[str, str], TaskTelemetry]  # likewise
    now: Callable[[], float]  # Unix seconds
