"""Look at how a run was launched, again and again until that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.analysis.launch.facts import launch_facts, run_started_s
from jobmon_core.domain.launch.judge import launch_events
from jobmon_core.domain.launch.model import FIRST_OUTPUT, Item, LaunchState, Result, Verdict
from jobmon_core.domain.progress.events.event import EventKind

if TYPE_CHECKING:
    from jobmon_core.analysis.launch.facts import Seen
    from jobmon_core.domain.progress.events.event import Event
    from jobmon_core.domain.tracking.model import Task, WatchedJob


def verify_launch(
    before: LaunchState | None, job: WatchedJob, task: Task, seen: Seen, now_s: float
) -> tuple[LaunchState, tuple[Event, ...]]:
    """Return what is known about the launch of a running task after one more look, and what is new.

    ``before`` is the result of the last look; None without one. Without telemetry, only logs and folders are
    judged.
    """
    started_s = run_started_s(task)
    before = before or _of_earlier_version(seen, started_s)
    if before and before.started_s == started_s and not before.is_open:
        return before, ()
    return launch_events(before, launch_facts(job, task, seen, now_s))


def _of_earlier_version(seen: Seen, started_s: float) -> LaunchState | None:
    """Return the state of a run whose late output an earlier version of jobmon has reported."""
    overdue_s = seen.progress.known_problems.overdue_start_s
    if overdue_s is None:
        return None
    missing = (Item(FIRST_OUTPUT, Result.FAILED),)
    kind = EventKind.NO_OUTPUT
    return LaunchState(started_s, overdue_s, verdict=Verdict.FAILED, items=missing, reported=kind)
