"""Taking stacks, as far as it needs no process."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.analysis.stacks import take_stacks
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.store.telemetry import TaskTelemetry


def test_a_folder_for_stacks_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "job").touch()  # a file in the place of the folder
    with pytest.raises(StorageFailed, match="job"):
        take_stacks(WatchedJob("a", 12, 100.0, backend="local"), Task(""), TaskTelemetry(tmp_path / "job"))


def test_without_a_report_of_an_agent_the_processes_are_not_known(tmp_path: Path) -> None:
    telemetry = TaskTelemetry(tmp_path / "new" / "job")
    report = take_stacks(WatchedJob("a", 12, 100.0, backend="local"), Task(""), telemetry)
    assert report.problems == ("its processes are not known: no agent has reported any",)
