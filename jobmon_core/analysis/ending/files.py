"""The files of an ended job."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from jobmon_core.domain.job.history.prices import Prices
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis
    from jobmon_core.store.telemetry import TaskTelemetry


class EndFiles(NamedTuple):
    """Where the files of a job are."""

    read_on: Callable[[], JobProgress]  # to the ends of the logs
    read_progress: Callable[[], JobProgress]  # what was read so far
    user_patterns: Path  # may be missing
    changes_of: Callable[[Mapping[str, Diagnosis]], dict[str, str]]  # since the job last worked, by task
    bundle_path: Callable[[str, str], Path]  # of the state id of a job and the key of a task
    telemetry_of: Callable[[str, str], TaskTelemetry]  # likewise
    history: Path  # the folder; may be missing
    now: Callable[[], float]  # Unix seconds
    prices: Callable[[], Prices | None] = lambda: None
