"""Notice what a running task's trackers say: alerts of the program, and what contradicts the job."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.contradictions import JobSide, contradictions
from jobmon_core.domain.logs.progress.events.ongoing import unusual_pause_s
from jobmon_core.domain.logs.progress.events.tracker_news import tracker_news
from jobmon_core.store.job_files import progress_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jobmon_core.analysis.followed_task import ReadTask, TaskLook
    from jobmon_core.domain.job.job_settings import AttemptPlace
    from jobmon_core.domain.logs.progress.events.event import Event
    from jobmon_core.domain.logs.tracker import TrackerRun
    from jobmon_core.store.lineages import LineageStore


def look_at_tracker_news(before: ReadTask, look: TaskLook) -> tuple[ReadTask, tuple[Event, ...]]:
    """Return a running task with what was told of its trackers, and what is new."""
    if not before.tracked:
        return before, ()
    tracking = before.tracking
    place = look.job.own_settings.attempt
    side = JobSide(
        is_moving=bool(before.history.samples) and unusual_pause_s(before.history, look.now_s) is None,
        attempt=(place.number if place else 0) or look.task.restarts,
        earlier=tracking.earlier,
    )
    found = [each for run in before.tracked for each in contradictions(run, side)]
    since_s = float(look.task.start_s or look.job.registered_s)
    told, events = tracker_news(tracking.told, before.tracked, found, since_s, look.now_s)
    return replace(before, tracking=replace(tracking, told=told)), events


def runs_of_attempt_before(
    place: AttemptPlace, lineages: LineageStore, file_of: Callable[[str], Path]
) -> tuple[TrackerRun, ...]:
    """Return the runs of trackers to which the attempt before this one logged."""
    attempt = lineages.load(place.lineage).attempt(place.number - 1)
    if attempt is None:
        return ()
    progress = progress_file(file_of(attempt.state_id)).read()
    return tuple(run for task in progress.tasks.values() for run in task.tracked)
