"""How far running jobs are, as `jobmon status` and `jobmon show` say it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.figures import eta, loss, percentage, units, workers_count
from jobmon.views.model import clock, span
from jobmon_core.app.jobs.selection import Group
from jobmon_core.app.live.tasks import live_tasks
from jobmon_core.domain.humanize import rate
from jobmon_core.domain.progress.events.event import EventKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.domain.progress.model import JobProgress, Progress
    from jobmon_core.lifecycle.health import JobStatus

_EVENTS_SHOWN = 5


def job_progress(status: JobStatus, progress: JobProgress | None, now_s: float) -> str:
    """Return e.g. ``slow, 67.3%, 1h 15m left``; of several tasks, the range; empty if nothing is known."""
    if progress is None:
        return ""
    running = [live for live in live_tasks(status, progress, now_s) if live.group is Group.RUNNING]
    known = [live for live in running if live.followed.progress]
    if len(known) == 1 or len(running) == 1:
        return _task_progress((known or running)[0])
    shares = sorted(
        live.followed.progress.fraction
        for live in known
        if live.followed.progress and live.followed.progress.fraction is not None
    )
    if not shares:
        return ""
    return f"{percentage(shares[0])} to {percentage(shares[-1])}"


def _task_progress(live: LiveTask) -> str:
    progress = live.followed.progress
    if progress is None:
        return ", ".join(live.problems)
    done = units(progress) if progress.fraction is None else percentage(progress.fraction)
    shows_time_left = progress.fraction != 1.0 and EventKind.STALLED not in live.problems
    left_s = live.estimate.remaining_s if shows_time_left else None
    left = f"{span(left_s)} left" if left_s is not None else ""
    is_new = live.pause_s is not None and EventKind.STALLED not in live.problems
    paused = f"no progress for {span(live.pause_s)}" if is_new and live.pause_s else ""
    parts = (*live.problems, done, left, paused)
    return ", ".join(filter(None, parts))


def progress_rows(live: LiveTask, now_s: float) -> Iterator[tuple[str, str]]:
    """Yield the rows of ``jobmon show`` about the progress of a task."""
    if progress := live.followed.progress:
        yield from _figures(live, progress, now_s)
    if counted := workers_count(live):
        yield "workers", f"{counted} with a log of their own"
    for event in live.events[-_EVENTS_SHOWN:]:
        yield "events", f"{clock(event.at_s, now_s, seconds=True)} {event.text}"


def _figures(live: LiveTask, progress: Progress, now_s: float) -> Iterator[tuple[str, str]]:
    epoch = f", epoch {progress.epoch:g}" if progress.epoch is not None and progress.unit != "epoch" else ""
    of = f" of {progress.epochs:g}" if epoch and progress.epochs else ""
    if progress.fraction is None:
        yield "progress", f"{units(progress)}{epoch}{of}"
    else:
        yield "progress", f"{percentage(progress.fraction)} ({units(progress)}){epoch}{of}"
    if live.group is Group.RUNNING:
        yield "ETA", eta(live, now_s)
    recent, average = rate(live.estimate.rate_per_s), rate(live.estimate.average_rate_per_s)
    if average:
        yield "speed", f"{recent} (average {average})"
    if progress.loss is not None:
        yield "loss", loss(progress.loss)
    if progress.end_marker:
        yield "log says", progress.end_marker
