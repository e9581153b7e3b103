"""Has the logs of the running jobs of a monitor read at intervals, those that are due in one child process.

Jobs with the same interval are due together.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.progress.events.event import Event, Followed
from jobmon_core.system.worker import Worker, WorkerFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.system.clock import Clock

Events = tuple[Event, ...]  # the latest ones of a job, oldest first

_SHORTEST_S = 5.0  # interval that a job may ask for
_MAX_SHARE = 0.02  # of the time: the logs of many jobs are read less often
_TIMEOUT_S = 20.0
_AFTER_FAILURE_S = 600.0  # e.g. while a file server does not respond


@dataclass(frozen=True, slots=True)
class _Pause:
    """A time in which logs are not read."""

    since_s: float = 0.0  # Unix seconds
    duration_s: float = 0.0

    def is_over(self, now_s: float) -> bool:
        return not 0 <= now_s - self.since_s < self.duration_s


class ProgressFollower:
    """The jobs whose logs are read, and the events that the latest reading found."""

    def __init__(
        self,
        read: Callable[[tuple[WatchedJob, ...]], dict[str, Followed]],
        worker: Worker,
        clock: Clock,
        interval_s: float,
    ) -> None:
        """Begin without jobs.

        Args:
            read: called in the child; returns what it found by state id.
            worker: runs the child.
            clock: the clock.
            interval_s: between two readings of a job that asks for no other interval.
        """
        self._read, self._worker, self._clock, self._interval_s = read, worker, clock, interval_s
        self._jobs: dict[str, WatchedJob] = {}
        self._pauses: dict[float, _Pause] = {}  # by interval: that of its jobs
        self._rest = _Pause()  # of all jobs
        self._failed = False
        self._problems: dict[str, str] = {}
        self._events: dict[str, Events] = {}

    def follow(self, job: WatchedJob, log: Callable[[str], None]) -> Events:
        """Return the latest events of a job, if its logs were read since the last call.

        A job that has just ended is read once more.
        """
        is_running = job.is_running
        has_ended = not is_running and self._jobs.pop(job.id, None) is not None
        if is_running:
            self._jobs[job.id] = job
        now_s = self._clock.now()
        can_read = self._rest.is_over(now_s)
        if has_ended and (
            can_read or not self._failed
        ):  # a final message must not wait for a dead file server
            self._read_logs((job,), log)
        elif can_read and (due := self._due(now_s)):
            began_s = time.monotonic()
            self._read_logs(due, log)
            self._pauses |= {each: _Pause(now_s, each) for each in map(self._interval_of, due)}
            if not self._failed:
                self._rest = _Pause(now_s, (time.monotonic() - began_s) / _MAX_SHARE)
        return self._events.pop(job.id, ())

    def next_s(self, job: WatchedJob) -> float:
        """Return when the logs of a running job that asks for an interval are due (Unix seconds).

        For another job that is infinity: its logs are read when the scheduler is queried.
        """
        if job.id not in self._jobs or not (job.settings and job.settings.check_interval_s):
            return float("inf")
        pauses = (self._pause_of(job), self._rest)
        return max(pause.since_s + pause.duration_s for pause in pauses)

    def _due(self, now_s: float) -> tuple[WatchedJob, ...]:
        return tuple(job for job in self._jobs.values() if self._pause_of(job).is_over(now_s))

    def _pause_of(self, job: WatchedJob) -> _Pause:
        return self._pauses.get(self._interval_of(job), _Pause())

    def _interval_of(self, job: WatchedJob) -> float:
        wanted_s = job.settings.check_interval_s if job.settings else None
        return max(_SHORTEST_S, wanted_s) if wanted_s else self._interval_s

    def forget(self, job_id: str) -> None:
        """Read the logs of a job no more."""
        self._jobs.pop(job_id, None)
        self._events.pop(job_id, None)
        self._problems.pop(job_id, None)

    def _read_logs(self, jobs: tuple[WatchedJob, ...], log: Callable[[str], None]) -> None:
        try:
            found = self._worker.run(dict[str, Followed], lambda: self._read(jobs), _TIMEOUT_S)
        except WorkerFailed as error:
            log(f"the progress could not be read: {error}")
            self._failed, self._rest = True, _Pause(self._clock.now(), _AFTER_FAILURE_S)
            if first := self._jobs.pop(jobs[0].id, None):
                self._jobs[first.id] = first  # it may be the cause: next time, the others are read before it
            return
        self._failed = False
        for job_id, followed in found.items():
            if followed.problem and followed.problem != self._problems.get(job_id):
                log(f"{job_id}: the progress could not be read: {followed.problem}")
            self._problems[job_id] = followed.problem
            self._events[job_id] = followed.events
