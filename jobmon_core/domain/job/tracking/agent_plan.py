"""When the agents of a job's tasks are started, and what their reports mean for the queries about the job.

Times are Unix seconds, durations are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.slurm.states import JobState

_FIRST_START_S = 3.0  # after the start of the task: one that fails at once gets no step beside it
_RETRY_WAITS_S = (5.0, 30.0, 120.0, 600.0)
_MEMORY_WAIT_S = 600.0  # for the job to free memory: the start of an agent must not be what exceeds its limit
_STEADY_S = 3600.0  # an agent that lived this long did not fail for the same reason as the one before it
_ENDS_TOGETHER_S = 10.0  # between the ends of an agent and of its task
_SILENT_INTERVALS, _SILENT_S = 3.0, 10.0  # a report may be late on a busy node or file server


@dataclass(frozen=True, slots=True)
class AgentAttempts:
    """The attempts to have an agent beside one run of a task."""

    run_s: float = 0.0  # the start of the run
    failures: int = 0  # agents in a row that did not start, or ended while the task was running
    started_s: float = 0.0  # of the latest agent
    ended_s: float | None = None  # of the latest agent; None while it runs, and before the first
    problem: str = ""  # why there is no agent, or why the latest one ended
    is_memory_short: bool = False  # it ended without a last report when little memory was left

    def after_end(self, now_s: float, problem: str, *, is_memory_short: bool = False) -> AgentAttempts:
        """Return them after the agent has ended, or could not be started."""
        failures = 1 if now_s - self.started_s >= _STEADY_S else self.failures + 1
        return replace(
            self, failures=failures, ended_s=now_s, problem=problem, is_memory_short=is_memory_short
        )

    def start_due_s(self) -> float:
        """Return when to start the next agent; infinity: not any more."""
        if not self.failures or self.ended_s is None:
            return self.run_s + _FIRST_START_S
        if self.is_given_up:
            return float("inf")
        if self.is_memory_short:
            return self.ended_s + _MEMORY_WAIT_S
        return self.ended_s + _RETRY_WAITS_S[self.failures - 1]

    def after_task(self, ended_s: float | None) -> AgentAttempts:
        """Return them after the task has ended; that its last agent ended with it is no failure."""
        if self.ended_s is None or ended_s is None or self.ended_s < ended_s - _ENDS_TOGETHER_S:
            return self
        return replace(self, failures=0, problem="")

    @property
    def is_given_up(self) -> bool:
        """Whether no further agent is started."""
        return self.failures > len(_RETRY_WAITS_S)


def may_have_agent(task: Task) -> bool:
    """Whether a task runs, by the scheduler's latest answer."""
    return task.state is JobState.RUNNING and task.end is None and task.inquiry is None


def keeps_agent(task: Task) -> bool:
    """Whether the agent of a task goes on although the task does not run: both are suspended."""
    is_paused = task.state in (JobState.SUSPENDED, JobState.STOPPED)
    return is_paused and task.end is None and task.inquiry is None


def run_of(task: Task) -> float:
    """Return the start of the current run of a task; 0 if it is not known."""
    return float(task.start_s or (task.history[-1].at_s if task.history else 0.0))


def silent_after_s(interval_s: float) -> float:
    """Return the age from which the latest report of an agent with this interval counts as its last."""
    return _SILENT_INTERVALS * interval_s + _SILENT_S


def reporting_since_s(job: WatchedJob, since_s: Mapping[str, float | None]) -> float | None:
    """Return since when an agent reports about every living task of a job; None if not all do.

    ``since_s`` has the time for each task, None while its agent is silent. Nobody reports the start of a
    pending task, so a job with one has None; so has one about which the scheduler does not answer.
    """
    living = [task for task in job.tasks.values() if task.end is None]
    if job.pending_indices or job.stale_since_s is not None or not living:
        return None
    times = [since_s.get(task.key) if may_have_agent(task) else None for task in living]
    known = [each for each in times if each is not None]
    return max(known) if len(known) == len(times) else None
