"""What the logs, outputs and agents of a job have shown so far: its progress file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jobmon_core.domain.artifacts.model import Artifacts
from jobmon_core.domain.job.history.baseline import Comparison
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.logs.progress.model import TaskProgress
from jobmon_core.domain.logs.tracker import TrackerRun
from jobmon_core.domain.node.launch.model import LaunchState
from jobmon_core.domain.node.triage.state import TriageState

_NO_ARTIFACTS, _NO_TRIAGE = Artifacts(), TriageState()
# what versions up to 0.8 kept in dictionaries of their own, by task key: the names then and now
_PARTS = {"launches": "launch", "triage": "triage", "readers": "reader", "errors": "errors"}


@dataclass(frozen=True, slots=True)
class FollowedTask(TaskProgress):
    """What the looks at one task have shown."""

    launch: LaunchState | None = None  # of its latest run; None if that was not looked at
    triage: TriageState = _NO_TRIAGE
    compared: Comparison | None = None  # with earlier runs like its latest one; None: not yet
    tracked: tuple[TrackerRun, ...] = ()  # the runs of trackers to which its latest run logs


@dataclass(frozen=True, slots=True)
class JobProgress:
    """The progress of a job; its file also has what only the next look needs."""

    updated_s: float = 0.0
    tasks: dict[str, FollowedTask] = field(default_factory=dict)  # by task key
    events: tuple[Event, ...] = ()  # the latest ones, oldest first
    artifacts: dict[str, Artifacts] = field(default_factory=dict)  # by task key; of the whole array: ""

    @staticmethod
    def upgraded(data: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON of an earlier version as this one writes it."""
        tasks = dict(data.get("tasks", {}))
        for old, new in _PARTS.items():
            for key, part in dict(data.get(old, {})).items():
                if key in tasks:
                    tasks[key] = {**tasks[key], new: part}
        return {**data, "tasks": tasks}

    def artifacts_of(self, key: str) -> Artifacts:
        """Return the outputs and checkpoints of a task, else those of the whole job."""
        return self.artifacts.get(key) or self.artifacts.get("", _NO_ARTIFACTS)
