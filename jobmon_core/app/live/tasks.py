"""The tasks of a job as a screen shows them, and its phase in one word."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.jobs.find import StateGroup, group_of
from jobmon_core.app.jobs.overview import ending_of
from jobmon_core.domain.artifacts.model import Artifacts
from jobmon_core.domain.job.job_progress import FollowedTask, JobProgress
from jobmon_core.domain.logs.progress.estimate import estimate_or_printed
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.logs.progress.events.ongoing import (
    brought_up_to,
    ongoing,
    ongoing_events,
    unusual_pause_s,
)
from jobmon_core.domain.logs.progress.model import Estimate, TaskProgress
from jobmon_core.domain.slurm.job_ids import IndexSet, compact, ref_of
from jobmon_core.domain.slurm.states import Outcome, Phase
from jobmon_core.lifecycle.health import Health

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import StepUsage
    from jobmon_core.domain.logs.progress.events.event import Event
    from jobmon_core.domain.logs.tracker import TrackerRun
    from jobmon_core.domain.node.launch.model import LaunchState
    from jobmon_core.domain.node.telemetry.model import AgentReport
    from jobmon_core.lifecycle.health import JobStatus

ACTIVE = (StateGroup.RUNNING, StateGroup.ENDING, StateGroup.PENDING)  # in the order of the list
_NO_PROGRESS = FollowedTask()
_NO_ESTIMATE = Estimate()
_NO_ARTIFACTS = Artifacts()
_NEARLY_ALL = 0.999


class TaskAgents(NamedTuple):
    """What the agents beside a running task reported."""

    reports: tuple[AgentReport, ...] = ()  # one from each node
    problem: str = ""  # why there is none now
    usage: StepUsage | None = None  # what the scheduler itself samples; only if it was asked


_NO_AGENTS = TaskAgents()


class UsualEnd(NamedTuple):
    """When a task ends if it takes as long as runs like it: one time, or the shortest and the longest."""

    runs: int
    run_s: tuple[float, ...]
    left_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class LiveTask:
    """One task of a watched job, or all that are pending of an array, and its progress."""

    id: str  # the same in all listings
    ref: str  # as Slurm writes it
    status: JobStatus
    group: StateGroup
    task: Task | None = None  # None for what is pending
    progress: TaskProgress = _NO_PROGRESS
    estimate: Estimate = _NO_ESTIMATE
    pause_s: float | None = None  # without progress, if that is unusually long
    ongoing: tuple[Event, ...] = ()  # the worst first
    events: tuple[Event, ...] = ()  # oldest first
    artifacts: Artifacts = _NO_ARTIFACTS  # of the task, or of the whole array
    is_stale: bool = False  # its data are older than one polling interval
    agents: TaskAgents = _NO_AGENTS  # of a running task
    launch: LaunchState | None = None  # how its latest run was launched
    tracked: tuple[TrackerRun, ...] = ()  # the runs of trackers to which it logs
    usual: UsualEnd | None = None  # while nothing measured says when it ends

    @property
    def problems(self) -> tuple[EventKind, ...]:
        """The kinds, the worst first."""
        return ongoing(self.ongoing, self.task.key if self.task else "")

    @property
    def reports(self) -> tuple[AgentReport, ...]:
        """One from each node."""
        return self.agents.reports

    @property
    def job(self) -> WatchedJob:
        """That of the task."""
        return self.status.job


def live_tasks(
    status: JobStatus,
    progress: JobProgress,
    now_s: float,
    *,
    is_stale: bool = False,
    agents: Mapping[str, TaskAgents] = MappingProxyType({}),
) -> Iterator[LiveTask]:
    """Yield each task that runs or ended, and one for all that is pending; ``agents`` are by key."""
    job = status.job
    pending = []
    for task in job.tasks.values():
        group = task_group(job, task)
        if group is StateGroup.PENDING:
            pending.append(task)
            continue
        followed = progress.tasks.get(task.key, _NO_PROGRESS)
        found, pause_s = _outlook(status, group, followed, now_s)
        is_unknown = group is StateGroup.RUNNING and found.remaining_s is None and pause_s is None
        yield LiveTask(
            f"{job.id} {task.key}",
            str(ref_of(job.job_id, task.key)),
            status,
            group,
            task,
            followed,
            found,
            pause_s,
            ongoing_now(progress, task, now_s) if group is StateGroup.RUNNING else (),
            _events_of(progress, task.key),
            progress.artifacts_of(task.key),
            is_stale and group in ACTIVE,
            agents.get(task.key, _NO_AGENTS),
            followed.launch,
            followed.tracked,
            _usual_end(job, task, followed, now_s) if is_unknown else None,
        )
    if pending or job.pending_indices or not job.tasks:
        # a task that is the only pending one keeps its id when it starts
        name = "pending" if len(pending) > 1 or job.pending_indices else "".join(task.key for task in pending)
        group = StateGroup.UNWATCHED if job.closed else StateGroup.PENDING
        yield LiveTask(f"{job.id} {name}", _pending_ref(job, pending), status, group, is_stale=is_stale)


def ongoing_now(progress: JobProgress, task: Task, now_s: float) -> tuple[Event, ...]:
    """Return what is wrong at ``now_s``, the worst first."""
    return tuple(brought_up_to(event, now_s) for event in ongoing_events(progress.events, task.key))


def _events_of(progress: JobProgress, key: str) -> tuple[Event, ...]:
    """Sort them: a checkpoint is noticed some time later."""
    own = (event for event in progress.events if event.task in ("", key))
    return tuple(sorted(own, key=lambda event: event.at_s))


def _outlook(
    status: JobStatus, group: StateGroup, followed: TaskProgress, now_s: float
) -> tuple[Estimate, float | None]:
    if group is not StateGroup.RUNNING:
        return _NO_ESTIMATE, None
    found = estimate_or_printed(followed.history, followed.progress, now_s)
    is_watched = status.health in (Health.ALIVE, Health.REMOTE)
    has_done_all = followed.progress is None or followed.progress.fraction == 1.0
    pause_s = None if has_done_all else unusual_pause_s(followed.history, now_s)
    if pause_s is None:
        return found, None
    return found.without_end(), pause_s if is_watched else None


def _usual_end(job: WatchedJob, task: Task, followed: FollowedTask, now_s: float) -> UsualEnd | None:
    """Return None also for a run that continues another, has done all, or takes longer than those before."""
    found, progress = followed.compared, followed.progress
    is_whole = not task.restarts and not (job.attempt and job.attempt.number)
    has_done_all = progress is not None and progress.fraction == 1.0
    if found is None or found.started_s != task.start_s or not is_whole or has_done_all:
        return None
    expected_s, age_s = found.usual.expected_run_s, now_s - found.started_s
    if not expected_s or expected_s[0] <= age_s:
        return None
    return UsualEnd(len(found.usual.run_s), expected_s, tuple(each - age_s for each in expected_s))


def task_group(job: WatchedJob, task: Task) -> StateGroup:
    """Return what a task does now, or how it ended."""
    if task.end is None and not job.closed:
        if ending_of(task):
            return StateGroup.ENDING
        return StateGroup.PENDING if task.state.phase is Phase.WAITING else StateGroup.RUNNING
    return group_of(replace(job, tasks={task.key: task}, pending_indices=""))


def _pending_ref(job: WatchedJob, pending: Iterable[Task]) -> str:
    """Return e.g. ``12_[3-9]``."""
    keys = [task.key for task in pending]
    if not job.is_array or not all(key.isdigit() for key in keys):
        return str(job.ref)
    indices = IndexSet.parse(job.pending_indices)
    listed = compact([int(key) for key in keys if int(key) not in indices])
    return f"{job.job_id}_[{','.join(filter(None, (listed, job.pending_indices)))}]"


class JobPhase(StrEnum):
    """The phases of a job, for its user; ``Phase`` is that of Slurm's states.

    An array that has not ended is in the first of these that one of its unended tasks is in.
    """

    STALLED = "stalled"
    LAUNCHING = "launching"  # it runs, but has written nothing to its logs
    RUNNING = "running"
    COMPLETING = "completing"  # all or nearly all is done, or it left the queue; its outcome is not known yet
    COMPLETED = "completed"
    FAILED = "failed"


def phase_of(status: JobStatus, progress: JobProgress | None, now_s: float) -> JobPhase | None:
    """Return the phase of a job; None if it is pending, cancelled, unwatched or of unknown outcome."""
    outcome = status.job.outcome
    if outcome is not None:
        return {Outcome.SUCCESS: JobPhase.COMPLETED, Outcome.FAILURE: JobPhase.FAILED}.get(outcome)
    phases = {_phase(live) for live in live_tasks(status, progress or JobProgress(), now_s)}
    return next((phase for phase in JobPhase if phase in phases), None)


def _phase(live: LiveTask) -> JobPhase | None:
    if live.group is StateGroup.ENDING:
        return JobPhase.COMPLETING
    if live.group is not StateGroup.RUNNING:
        return None
    progress = live.progress.progress
    if EventKind.STALLED in live.problems:
        return JobPhase.STALLED
    if progress is None and not live.progress.has_output:
        return JobPhase.LAUNCHING
    is_nearly_done = progress is not None and (progress.fraction or 0.0) >= _NEARLY_ALL
    return JobPhase.COMPLETING if is_nearly_done else JobPhase.RUNNING
