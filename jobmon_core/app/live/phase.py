"""What a job does, in one word for scripts: its state and its progress taken together."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.selection import Group
from jobmon_core.app.live.tasks import live_tasks
from jobmon_core.domain.progress.events.event import EventKind
from jobmon_core.domain.progress.model import JobProgress
from jobmon_core.domain.slurm.states import Outcome

if TYPE_CHECKING:
    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.lifecycle.health import JobStatus

_NO_PROGRESS = JobProgress()
_NEARLY_ALL = 0.999


class JobPhase(StrEnum):
    """The phases of a job, for its user; ``Phase`` is that of Slurm's states.

    The phase of an array that has not ended is the first of these that one of its unended tasks is in.
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
    phases = {_phase(live) for live in live_tasks(status, progress or _NO_PROGRESS, now_s)}
    return next((phase for phase in JobPhase if phase in phases), None)


def _phase(live: LiveTask) -> JobPhase | None:
    if live.group is Group.ENDING:
        return JobPhase.COMPLETING
    if live.group is not Group.RUNNING:
        return None
    progress = live.progress.progress
    if EventKind.STALLED in live.problems:
        return JobPhase.STALLED
    if progress is None and not live.progress.has_output:
        return JobPhase.LAUNCHING
    is_nearly_done = progress is not None and (progress.fraction or 0.0) >= _NEARLY_ALL
    return JobPhase.COMPLETING if is_nearly_done else JobPhase.RUNNING
