"""Has the logs of the running jobs of a monitor read at an interval, in one child process for all of them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from jobmon_core.domain.progress.model import Event, Followed
from jobmon_core.system.worker import Worker, WorkerFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.system.clock import Clock

Events = tuple[Event, ...]  # the latest ones of a job, oldest first

_MAX_SHARE = 0.02  # of the time: the logs of many jobs are read less often
_TIMEOUT_S = 20.0
_AFTER_FAILURE_S = 600.0  # e.g. while a file server does not respond


class ProgressFollower:
    """The jobs whose logs are read, and the events that the latest reading found."""

    def __init__(
        self,
        read: Callable[[tuple[WatchedJob, ...]], dict[str, Followed]],
        worker: Worker,
        clock: Clock,
        interval_s: float,
    ) -> None:
        """Begin without jobs; ``read`` is called in the child and returns what it found by state id."""
        self._read, self._worker, self._clock, self._interval_s = read, worker, clock, interval_s
        self._jobs: dict[str, WatchedJob] = {}
        self._read_s = self._pause_s = 0.0
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
        is_due = not 0 <= self._clock.now() - self._read_s < self._pause_s
        if has_ended and (is_due or not self._failed):  # a final message must not wait for a dead file server
            self._read_logs((job,), log)
        elif self._jobs and is_due:
            self._read_s, began_s = self._clock.now(), time.monotonic()
            self._read_logs(tuple(self._jobs.values()), log)
            if not self._failed:
                self._pause_s = max(self._interval_s, (time.monotonic() - began_s) / _MAX_SHARE)
        return self._events.pop(job.id, ())

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
            self._failed, self._read_s, self._pause_s = True, self._clock.now(), _AFTER_FAILURE_S
            if first := self._jobs.pop(jobs[0].id, None):
                self._jobs[first.id] = first  # it may be the cause: next time, the others are read before it
            return
        self._failed = False
        for job_id, followed in found.items():
            if followed.problem and followed.problem != self._problems.get(job_id):
                log(f"{job_id}: the progress could not be read: {followed.problem}")
            self._problems[job_id] = followed.problem
            self._events[job_id] = followed.events
