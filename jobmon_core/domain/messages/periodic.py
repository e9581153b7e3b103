"""How far a running job is, at the period that its user wants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.config_section import MIN_EVERY_S
from jobmon_core.domain.humanize import count, duration, listed
from jobmon_core.domain.logs.progress.estimate import estimate_or_printed
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.events.ongoing import unusual_pause_s
from jobmon_core.domain.logs.progress.figures import done, share
from jobmon_core.domain.messages.progress_alerts import PERIODIC
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.states import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.logs.progress.model import TaskProgress

    Clock = Callable[[float, float], str]  # a time of day, given a time and now (Unix seconds)

_MAX_TASKS = 5  # of an array, whose progress is named
_IDLE_SHARE = 0.5  # of the period: after so long without a step, the message says since when


def periodic_event(
    job: WatchedJob, progress: Mapping[str, TaskProgress], every_s: float, now_s: float, clock: Clock
) -> Event | None:
    """Return how far a job is, once in each period since its start in which a task of it runs, else None.

    A suspended task does not run. What was told is noted in the state of the job, so that a monitor that
    starts later does not tell it again.
    """
    every_s = max(every_s, MIN_EVERY_S)
    running = [task.key for task in job.tasks.values() if task.state is JobState.RUNNING and not task.end]
    starts_s = [task.start_s for task in job.tasks.values() if task.start_s]
    start_s = min(starts_s, default=job.registered_s)  # a scheduler may say no start
    period_s = start_s + (now_s - start_s) // every_s * every_s  # when the current one began
    if not running or period_s <= max(start_s, _told_s(job)):
        return None
    if len(job.tasks) == 1:
        text = _text(progress.get(running[0]), every_s, now_s, clock)
    else:
        far = [
            f"{ref_of(job.job_id, key)} {share(found)}"
            for key in running
            if key in progress and (found := progress[key].progress)
        ]
        ended = sum(task.end is not None for task in job.tasks.values())
        text = f"{count(len(running), 'task')} running, {ended:,} ended"
        text = "; ".join(filter(None, (text, listed(far, _MAX_TASKS))))
    since = f" (running for {duration(now_s - start_s)})" if starts_s else ""
    return Event(period_s, EventKind.PERIODIC, f"{text}{since}")


def _told_s(job: WatchedJob) -> float:
    """Return when the period began in which the last such message was made; 0 without one."""
    times = (each.partition(PERIODIC)[2] for each in job.alerted)
    return max((float(each) for each in times if each.isdecimal()), default=0.0)


def _text(followed: TaskProgress | None, every_s: float, now_s: float, clock: Clock) -> str:
    if followed is None or followed.progress is None:
        return "its log shows no progress yet"
    found, samples = followed.progress, followed.history.samples
    if samples and now_s - samples[-1].at_s > _IDLE_SHARE * every_s:
        unit = "progress" if found.unit == "%" else f"new {found.unit}"
        return f"{done(found)}, no {unit} since {clock(samples[-1].at_s, now_s)}"
    left_s = estimate_or_printed(followed.history, found, now_s).remaining_s
    if left_s is None or found.fraction == 1.0 or unusual_pause_s(followed.history, now_s) is not None:
        return done(found)
    return f"{done(found)}, about {duration(left_s)} left"
