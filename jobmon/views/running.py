"""How far running jobs are, as `jobmon status` and `jobmon show` say it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.figures import (
    epoch,
    eta,
    finish,
    loss,
    percentage,
    problems,
    progress_age,
    units,
    workers_count,
)
from jobmon.views.model import clock, span
from jobmon_core.app.jobs.selection import Group
from jobmon_core.app.live.tasks import live_tasks
from jobmon_core.domain.humanize import count, rate
from jobmon_core.domain.progress.events.event import EventKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
    return _range_of_shares(known)


def _range_of_shares(tasks: Iterable[LiveTask]) -> str:
    """Return e.g. ``20.0% to 90.0%``; empty if no share is known."""
    progress = (live.followed.progress for live in tasks)
    shares = sorted(each.fraction for each in progress if each and each.fraction is not None)
    texts = [percentage(share) for share in (shares[:1] + shares[-1:])]
    return " to ".join(dict.fromkeys(texts))


def _task_progress(live: LiveTask) -> str:
    progress = live.followed.progress
    if progress is None:
        return ", ".join(problems(live))
    done = units(progress) if progress.fraction is None else percentage(progress.fraction)
    shows_time_left = progress.fraction != 1.0 and EventKind.STALLED not in live.problems
    left_s = live.estimate.remaining_s if shows_time_left else None
    left = f"{span(left_s)} left" if left_s is not None else ""
    is_new = live.pause_s is not None and EventKind.STALLED not in live.problems
    paused = f"no progress for {span(live.pause_s)}" if is_new and live.pause_s else ""
    unfinished = "not ended yet" if progress.fraction == 1.0 else ""
    parts = (*problems(live), done, left, unfinished, paused)
    return ", ".join(filter(None, parts))


def progress_rows(live: LiveTask, now_s: float) -> Iterator[tuple[str, str]]:
    """Yield the rows of ``jobmon show`` about the progress of a task."""
    if progress := live.followed.progress:
        yield from _figures(live, progress, now_s)
    if counted := workers_count(live):
        yield "workers", f"{counted} with a log of their own"
    for event in live.events[-_EVENTS_SHOWN:]:
        yield "events", f"{clock(event.at_s, now_s, seconds=True)} {event.text}"


def array_rows(tasks: Iterable[LiveTask], now_s: float) -> Iterator[tuple[str, str]]:
    """Yield the rows of ``jobmon show`` about the progress of all running tasks of an array."""
    running = [live for live in tasks if live.group is Group.RUNNING]
    if text := _range_of_shares(running):
        yield "progress", f"{text} ({count(len(running), 'running task')})"
    last = max(running, key=lambda live: live.estimate.remaining_s or 0.0, default=None)
    if last and last.estimate.remaining_s is not None:
        yield "ETA", f"{finish(last.estimate, now_s)}; {last.ref} ends last"


def _figures(live: LiveTask, progress: Progress, now_s: float) -> Iterator[tuple[str, str]]:
    done = units(progress)
    if progress.fraction is not None:
        done = f"{percentage(progress.fraction)} ({done})"
    parts = ", ".join(filter(None, (done, epoch(progress))))
    yield "progress", f"{parts}{progress_age(live, now_s)}"
    if live.group is Group.RUNNING:
        yield "ETA", eta(live, now_s)
    rates = (live.estimate.rate_per_s, live.estimate.average_rate_per_s)
    recent, average = (rate(per_s, progress.unit) for per_s in rates)
    if average:
        yield "speed", recent if recent == average else f"{recent} (average {average})"
    if progress.loss is not None:
        yield "loss", loss(progress.loss)
    if progress.end_marker:
        yield "log says", progress.end_marker
