"""What the logs, outputs and agents of a job have shown so far: the content of its progress file."""

from __future__ import annotations

from dataclasses import dataclass, field

from jobmon_core.domain.artifacts.model import Artifacts
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.logs.progress.model import TaskProgress
from jobmon_core.domain.node.launch.model import LaunchState
from jobmon_core.domain.node.triage.state import TriageState

_NO_ARTIFACTS = Artifacts()


@dataclass(frozen=True, slots=True)
class JobProgress:
    """The progress of a job, by task key; the content of its progress file."""

    updated_s: float = 0.0
    tasks: dict[str, TaskProgress] = field(default_factory=dict)
    events: tuple[Event, ...] = ()  # the latest ones, oldest first
    artifacts: dict[str, Artifacts] = field(default_factory=dict)  # also of the whole array, with the key ""
    triage: dict[str, TriageState] = field(default_factory=dict)  # by task key
    launches: dict[str, LaunchState] = field(default_factory=dict)  # likewise

    def artifacts_of(self, key: str) -> Artifacts:
        """Return the outputs and checkpoints of a task, else those of the whole job."""
        return self.artifacts.get(key) or self.artifacts.get("", _NO_ARTIFACTS)
