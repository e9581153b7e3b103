"""The tasks of the watched jobs, at little cost again and again; and messages for an open `jobmon top`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.jobs.find import StateGroup, by_id, last_change_s
from jobmon_core.app.jobs.overview import (
    Overview,
    group_intervals_s,
    lineages_of,
    policy,
    statuses,
    task_index,
)
from jobmon_core.app.live.changed_files import ChangedFiles
from jobmon_core.app.live.tasks import ACTIVE, LiveTask, live_tasks
from jobmon_core.app.live.telemetry import agents_of, read_record, read_report
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.job.tracking.reopen import without_duplicates
from jobmon_core.lifecycle.health import job_statuses
from jobmon_core.notify.channels.terminal import FEED, REFRESH_S, Terminal, read_lines
from jobmon_core.store.job_files import progress_file
from jobmon_core.store.jobs import Unreadable
from jobmon_core.system.files import read_own

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from jobmon_core.app.live.log_errors import LogErrors
    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.restart.model import Lineage
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.lifecycle.health import JobStatus
    from jobmon_core.notify.channels.terminal import TerminalLine

_RENEW_S = 10.0  # after which the estimate, the monitor's health and the age of the data are looked at again

_MESSAGE_SHOWN_S = 900.0
_MAX_FEED_BYTES = 262_144


@dataclass(frozen=True, slots=True)
class Listing:
    """All tasks that are shown, as of one moment (Unix seconds)."""

    at_s: float
    tasks: tuple[LiveTask, ...] = ()
    as_of_s: float | None = None  # of the oldest data that are not stale
    stale_since_s: float | None = None  # of the oldest stale data
    unreadable: int = 0
    message: TerminalLine | None = None
    ended: tuple[JobStatus, ...] = ()  # the latest first; only if they were asked for
    lineages: Mapping[str, Lineage] = field(default_factory=dict)  # of those that are attempts, by state id


class _Known(NamedTuple):
    """What was known of a job at ``at_s``."""

    job: WatchedJob
    progress: JobProgress
    at_s: float
    tasks: tuple[LiveTask, ...]

    def is_current(self, job: WatchedJob, progress: JobProgress, now_s: float) -> bool:
        """Whether neither file was read again, and little time has passed."""
        unchanged = job is self.job and progress is self.progress
        return unchanged and 0 <= now_s - self.at_s < _RENEW_S


class LiveJobs:
    """Reads the files of watched jobs, or of those that are named, each again after it has changed."""

    def __init__(self, ctx: Context, refs: Sequence[JobRef] = (), ended_within_s: float = 0.0) -> None:
        """Show the jobs that are watched, also after they end; with ``refs`` only these jobs.

        With ``ended_within_s``, a job that ends is instead listed among those that did in so many seconds.
        """
        self._ctx, self._refs, self._ended_within_s = ctx, refs, ended_within_s
        self._look = ctx.for_one_look()
        self._shown: set[str] = set()  # ids of tasks
        self._shown_jobs: set[str] = set()  # state ids
        self._states = ChangedFiles(self._read_state)
        self._progress = ChangedFiles(self._read_progress)
        self._reports, self._records = ChangedFiles(read_report), ChangedFiles(read_record)
        self._messages = ChangedFiles(_newest_message)
        self._policy, self._group_intervals_s = policy(ctx), group_intervals_s(ctx)
        self._known: dict[str, _Known] = {}  # by state id

    def log_errors(self, live: LiveTask) -> LogErrors:
        """Return the search for error lines."""
        # matching is needed only on the page of a task
        from jobmon_core.app.live.log_errors import LogErrors
        from jobmon_core.app.patterns import own_pattern_file

        return LogErrors(live.job, own_pattern_file(self._ctx))

    def listing(self) -> Listing:
        """Running tasks come first, then those that end, are pending, or ended."""
        self._look, now_s = self._ctx.for_one_look(), self._ctx.clock.now()
        entries = self._states.contents(self._look.store.paths())
        jobs = without_duplicates(each for each in entries if each and not isinstance(each, Unreadable))
        jobs, ended = self._apart(jobs, now_s)
        progress = self._progress.contents([self._look.home.progress_file(job.id) for job in jobs])
        self._renew(jobs, progress, now_s)
        tasks = [task for known in self._known.values() for task in known.tasks if self._is_shown(task)]
        self._shown |= {task.id for task in tasks}
        self._shown_jobs |= {task.job.id for task in tasks}
        self._reports.begin_look()
        self._records.begin_look()
        tasks = sorted(map(self._with_agents, tasks), key=_sort_key)
        unreadable = sum(isinstance(each, Unreadable) for each in entries)
        message = self._messages.content(self._ctx.home.root / FEED)
        if message and now_s - message.created_s > _MESSAGE_SHOWN_S:
            message = None
        return dated(
            Listing(
                now_s,
                tuple(tasks),
                unreadable=unreadable,
                message=message,
                ended=ended,
                lineages=lineages_of(self._ctx, [each.job for each in ended]),
            )
        )

    def _apart(self, jobs: list[WatchedJob], now_s: float) -> tuple[list[WatchedJob], tuple[JobStatus, ...]]:
        """Return the jobs that are shown as tasks, and those that ended lately, if these were asked for."""
        if not self._ended_within_s:
            return jobs, ()
        ended = [job for job in jobs if job.closed and now_s - last_change_s(job) < self._ended_within_s]
        ended.sort(key=last_change_s, reverse=True)
        return [job for job in jobs if not job.closed], tuple(job_statuses(self._look, ended))

    def _with_agents(self, live: LiveTask) -> LiveTask:
        if live.task is None or live.group is not StateGroup.RUNNING:
            return live
        telemetry = self._look.telemetry(live.job.id, live.task.key)
        agents = agents_of(telemetry, self._reports.content, self._records.content)
        return live if agents == live.agents else replace(live, agents=agents)

    def _renew(self, jobs: Sequence[WatchedJob], progress: Sequence[JobProgress], now_s: float) -> None:
        read = {job.id: (job, of_job) for job, of_job in zip(jobs, progress, strict=True)}
        kept = {
            state_id: known
            for state_id, known in self._known.items()
            if state_id in read and known.is_current(*read[state_id], now_s)
        }
        due = [job for job in jobs if job.id not in kept]
        overview = Overview(
            statuses(self._look, due), [], self._policy, group_intervals_s=self._group_intervals_s
        )
        for status in overview.jobs:
            job, of_job = read[status.job.id]
            is_stale = _is_stale(status, overview, now_s)
            kept[job.id] = _Known(
                job, of_job, now_s, (*live_tasks(status, of_job, now_s, is_stale=is_stale),)
            )
        self._known = kept

    def _read_state(self, path: Path) -> WatchedJob | Unreadable | None:
        """Return None if it is not to be shown: most jobs of a user ended long ago."""
        job = self._look.store.read(path)
        if isinstance(job, Unreadable):
            return job
        if self._refs:
            return job if any(job.is_named_by(ref) for ref in self._refs) else None
        is_recent = self._ctx.clock.now() - last_change_s(job) < self._ended_within_s
        return job if not job.closed or job.id in self._shown_jobs or is_recent else None

    @staticmethod
    def _read_progress(path: Path) -> JobProgress:
        return progress_file(path).read()

    def _is_shown(self, task: LiveTask) -> bool:
        if self._refs:
            return any(_names(ref, task) for ref in self._refs)
        return task.group in ACTIVE or task.id in self._shown


def _names(ref: JobRef, live: LiveTask) -> bool:
    """A row of pending tasks is named by each task of its job."""
    if ref.job_id != live.job.job_id:
        return live.task is not None and not ref.key and ref.job_id == live.task.raw_job_id
    return live.task is None or ref.key in ("", live.task.key)


def _is_stale(status: JobStatus, overview: Overview, now_s: float) -> bool:
    job = status.job
    if job.closed:
        return False
    return job.stale_since_s is not None or overview.age_s(job, now_s) is not None


def dated(listing: Listing) -> Listing:
    """Add the times of the tasks' data."""
    active = [each for each in listing.tasks if each.group in ACTIVE]
    fresh = [each.job.answered_s for each in active if not each.is_stale and each.job.answered_s is not None]
    stale = [each.job.answered_s or each.job.registered_s for each in active if each.is_stale]
    return replace(listing, as_of_s=min(fresh, default=None), stale_since_s=min(stale, default=None))


def _sort_key(live: LiveTask) -> tuple[int, tuple[int, int, int, float], int]:
    order = ACTIVE.index(live.group) if live.group in ACTIVE else len(ACTIVE)
    return order, by_id(live.status), task_index(live.task) if live.task else 0


def refresh_s(ctx: Context) -> float:
    """Return how often `jobmon top` looks, as configured for the terminal channel."""
    try:
        channels = ctx.configuration().channels
    except ConfigInvalid:
        return REFRESH_S  # other commands report the faults
    terminals = (each.channel for each in channels if isinstance(each.channel, Terminal))
    return next((terminal.refresh_s for terminal in terminals), REFRESH_S)


def _newest_message(path: Path) -> TerminalLine | None:
    try:
        lines = read_lines(read_own(path, _MAX_FEED_BYTES))
    except OSError:
        return None  # there is no terminal channel, or no message yet
    return next(reversed(lines), None)
