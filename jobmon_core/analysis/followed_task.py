"""What one look at a running task begins with, whether the task will end in time, and what trackers say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.tracked import TrackerState
from jobmon_core.domain.artifacts.model import Artifacts
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.job.job_progress import FollowedTask
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.logs.progress.estimate import estimate, limit_outlook
from jobmon_core.domain.logs.progress.events.detect import Observation, progress_events, stall_after_s
from jobmon_core.domain.logs.progress.events.errors import ErrorWatch
from jobmon_core.domain.logs.progress.events.ongoing import unusual_pause_s
from jobmon_core.domain.logs.progress.events.tracker_news import contradicted, tracker_alerts
from jobmon_core.domain.logs.progress.log.fold import ReaderState
from jobmon_core.domain.logs.progress.tracked import stepped_s
from jobmon_core.domain.logs.progress.workers import WorkerState, worker_state
from jobmon_core.domain.slurm.states import JobState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.domain.job.job_settings import JobSettings
    from jobmon_core.domain.logs.progress.events.event import Event
    from jobmon_core.domain.logs.progress.model import LimitOutlook, TaskProgress
    from jobmon_core.store.telemetry import TaskTelemetry

STANDSTILL = (JobState.SUSPENDED, JobState.STOPPED)
_NO_ERRORS, _NO_TRACKERS = ErrorWatch(), TrackerState()


@dataclass(frozen=True, slots=True)
class ReadTask(FollowedTask):
    """A followed task, with the states from which the next look continues."""

    reader: ReaderState | None = None  # None: its logs are not read any more
    errors: ErrorWatch = _NO_ERRORS
    tracking: TrackerState = _NO_TRACKERS


class TaskLook(NamedTuple):
    """One look at a running task; times are Unix seconds."""

    now_s: float
    job: WatchedJob
    task: Task
    artifacts: Artifacts = Artifacts()  # those that no other task of its array writes
    written_s: float | None = None  # the last write to its logs
    telemetry: TaskTelemetry | None = None  # what agents report
    searched: Sequence[str] = ()  # the logs in which failures are searched
    user_patterns: Path | None = None  # a file that may be missing
    history: Path | None = None  # of ended runs; None: they are not compared


def look_at_pace(before: ReadTask, look: TaskLook) -> tuple[ReadTask, tuple[Event, ...]]:
    """Return a running task with its known problems, and what is new."""
    if before.progress is None:
        return before, ()
    settings = look.job.own_settings
    written_s = min(look.now_s, look.written_s or look.now_s)
    stepped = min(look.now_s, max((stepped_s(run) or 0.0 for run in before.tracked), default=0.0))
    idle_s = look.now_s - max(written_s, look.artifacts.written_s or 0.0, stepped, running_since_s(look.task))
    seen = Observation(
        look.now_s,
        before.progress,
        before.history,
        _outlook(before, look.task, look.now_s),
        _idle_sign(before, settings, idle_s, look.artifacts),
        idle_s,
        settings.stall_timeout_s,
        settings.restart.stall_limit_s if settings.restart and settings.attempt else None,
        settings.slowdown_percent,
        any(worker_state(each, look.now_s) is WorkerState.FINISHED for each in before.workers.values()),
    )
    known, events = progress_events(before.known_problems, seen)
    return replace(before, known_problems=known), events


def running_since_s(task: Task) -> float:
    """Return when a task last started or was resumed (Unix seconds)."""
    return max(task.start_s or 0.0, task.history[-1].at_s if task.history else 0.0)


def _outlook(followed: TaskProgress, task: Task, now_s: float) -> LimitOutlook | None:
    if task.start_s is None or task.limit_s is None or followed.progress is None:
        return None
    if any(JobState.from_slurm(change.state) in STANDSTILL for change in task.history):
        return None  # the time of a suspension does not count, and its length is not known
    found = estimate(followed.history, followed.progress.total, now_s)
    return limit_outlook(found, task.start_s, task.start_s + task.limit_s, now_s)


def _idle_sign(followed: ReadTask, settings: JobSettings, idle_s: float, artifacts: Artifacts) -> str:
    if idle_s < (settings.stall_timeout_s or stall_after_s(followed.history)):
        return ""
    if artifacts.outputs and artifacts.outputs.hardly_grow:
        return f"for {duration(idle_s)}, nothing was written to its logs, and its outputs hardly grew"
    trackers = [run.tracker.label for run in followed.tracked if run.step is not None]
    written = " and ".join(("logs", *(["outputs"] if artifacts.looked_s else []), *trackers))
    return f"nothing was written to its {written} for {duration(idle_s)}"


def look_at_tracker_news(before: ReadTask, look: TaskLook) -> tuple[ReadTask, tuple[Event, ...]]:
    """Return a running task with what was told of its trackers, and what is new."""
    if not before.tracked:
        return before, ()
    tracking, place, now_s = before.tracking, look.job.attempt, look.now_s
    is_moving = bool(before.history.samples) and unusual_pause_s(before.history, now_s) is None
    is_further = bool(place and place.number) or look.task.restarts > 0
    earlier = tracking.earlier if is_further else ()
    since_s = float(look.task.start_s or look.job.registered_s)
    told, alerts = tracker_alerts(tracking.told, before.tracked, since_s, now_s)
    told, found = contradicted(told, before.tracked, earlier, now_s, is_moving=is_moving)
    return replace(before, tracking=replace(tracking, told=told)), (*alerts, *found)
