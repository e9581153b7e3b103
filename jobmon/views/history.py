"""The changes of state of a task, as rows of ``jobmon show``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from jobmon.views.model import clock
from jobmon_core.domain.slurm.states import JobState, Phase, stated_reason

if TYPE_CHECKING:
    from jobmon_core.domain.tracking.model import StateChange, Task

_SHOWN = 20


def history_rows(task: Task, now_s: float) -> list[str]:
    """Return the latest changes of state, at Slurm's times if they are known, else when jobmon saw them."""
    before = (-math.inf, *(change.at_s for change in task.history))
    rows = [
        _history_row(task, change, before_s, now_s)
        for before_s, change in zip(before, task.history, strict=False)
    ]
    return rows[-_SHOWN:]


def _history_row(task: Task, change: StateChange, before_s: float, now_s: float) -> str:
    """Return a line for a change that happened between two looks at the queue, the first at ``before_s``."""
    reason = f" ({reason})" if (reason := stated_reason(change.reason)) else ""
    at_s = _slurm_time_s(task, JobState.from_slurm(change.state).phase)
    if at_s is None or not before_s - 1 < at_s <= change.at_s:
        return f"{clock(change.at_s, now_s, seconds=True)} {change.state}{reason}, when jobmon saw it"
    return f"{clock(at_s, now_s, seconds=True)} {change.state}{reason}"


def _slurm_time_s(task: Task, phase: Phase) -> int | None:
    """Return when the latest run of a task entered a phase, as Slurm reports it; None if it does not."""
    if phase is Phase.WAITING:
        return task.submit_s
    if phase is Phase.ACTIVE:
        return task.end.started_s if task.end else task.start_s
    return task.end.ended_s if task.end and phase is not Phase.UNKNOWN else None
