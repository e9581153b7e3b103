"""Has the logs of the running jobs of a monitor read at intervals, those that are due in one child process.

Jobs with the same interval are due together. The logs of a job that may show a failure are read again soon.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.progress.events.event import Event, Followed
from jobmon_core.system.worker import Worker, WorkerFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.system.clock import Clock

Events = tuple[Event, ...]  # the latest ones of a job, oldest first

_EARLY_S, _EARLY_INTERVAL_S = 120.0, 10.0  # a run that hangs early must have shown its pace before
_LAUNCH_S, _LAUNCH_INTERVAL_S = 60.0, 5.0  # whether all of a run has started is checked more often
_SHORTEST_S = 5.0  # interval that a job may ask for
_CALM_S = 60.0  # after the last early reading; within it, the pauses between early readings double
_LONGEST_IGNORED_S = 60.0  # pause that an early reading does not wait for
# the logs of many jobs are read less often: readings take at most these shares of a processor and of time
_MAX_CPU_SHARE = 0.02
_MAX_SHARE = 0.1  # a machine that is busy with other work does not delay the next reading further
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
        self._hurried: set[str] = set()  # state ids
        self._early = _Pause()  # between early readings
        self._problems: dict[str, str] = {}
        self._events: dict[str, Events] = {}
        self._rechecks: dict[str, float] = {}  # by state id: when its logs are read again (Unix seconds)

    def follow(self, job: WatchedJob, log: Callable[[str], None]) -> Events:
        """Return the latest events of a job, if its logs were read since the last call.

        The end of the logs of a job that has ended is left to its diagnosis, which reads them anyway.
        """
        if job.is_running:
            self._jobs[job.id] = job
            self._read_if_due(job, log)
        else:
            self._jobs.pop(job.id, None)
            self._rechecks.pop(job.id, None)
        return self._events.pop(job.id, ())

    def may_have_failed(self, job: WatchedJob) -> bool:
        """Return whether the logs of a job show what may be a failure, so that they are read again soon."""
        return job.id in self._rechecks

    def hurry(self, job_id: str) -> None:
        """Have the logs of a job (a state id) read early, e.g. because one of them has an error."""
        self._hurried.add(job_id)

    def _read_if_due(self, job: WatchedJob, log: Callable[[str], None]) -> None:
        """If the logs of this job are due, read them, and those of all other jobs that are due."""
        now_s = self._clock.now()
        if self._rechecks.get(job.id, float("inf")) <= now_s:
            self._read_logs((job,), log)
            return
        is_early = job.id in self._hurried and self._early.is_over(now_s)
        if is_early and self._rest.duration_s <= _LONGEST_IGNORED_S:
            is_calm = not 0 <= now_s - self._early.since_s < _CALM_S
            pause_s = _SHORTEST_S if is_calm else min(2 * self._early.duration_s, self._interval_s)
            self._early = _Pause(now_s, pause_s)
        elif not (self._rest.is_over(now_s) and self._pause_of(job).is_over(now_s)):
            return
        due = self._due(now_s)
        self._pauses |= {each: _Pause(now_s, each) for each in map(self._interval_of, due)}
        self._hurried -= {each.id for each in due}
        self._read_logs(due, log)

    def next_s(self, job: WatchedJob) -> float:
        """Return when the logs of a running job with an interval of its own are due (Unix seconds).

        For another job, unless its logs are read again soon, that is infinity: they are read when the
        scheduler is queried.
        """
        recheck_s = self._rechecks.get(job.id, float("inf"))
        if job.id in self._jobs and job.id in self._hurried:
            return min(recheck_s, self._early.since_s + self._early.duration_s)
        if job.id not in self._jobs or self._interval_of(job) == self._interval_s:
            return recheck_s
        pauses = (self._pause_of(job), self._rest)
        return min(recheck_s, max(pause.since_s + pause.duration_s for pause in pauses))

    def _due(self, now_s: float) -> tuple[WatchedJob, ...]:
        jobs = self._jobs.values()
        return tuple(job for job in jobs if job.id in self._hurried or self._pause_of(job).is_over(now_s))

    def _pause_of(self, job: WatchedJob) -> _Pause:
        return self._pauses.get(self._interval_of(job), _Pause())

    def _interval_of(self, job: WatchedJob) -> float:
        wanted_s = job.settings.check_interval_s if job.settings else None
        usual_s = max(_SHORTEST_S, wanted_s) if wanted_s else self._interval_s
        started_s = min((task.start_s for task in job.tasks.values() if task.start_s), default=0.0)
        age_s = self._clock.now() - started_s
        if not 0 <= age_s < _EARLY_S:
            return usual_s
        return min(usual_s, _LAUNCH_INTERVAL_S if age_s < _LAUNCH_S else _EARLY_INTERVAL_S)

    def forget(self, job_id: str) -> None:
        """Read the logs of a job no more."""
        self._jobs.pop(job_id, None)
        self._events.pop(job_id, None)
        self._problems.pop(job_id, None)
        self._rechecks.pop(job_id, None)
        self._hurried.discard(job_id)

    def _read_logs(self, jobs: tuple[WatchedJob, ...], log: Callable[[str], None]) -> None:
        began_s, before_s = self._clock.now(), self._clock.children_cpu_s()
        for job in jobs:
            self._rechecks.pop(job.id, None)
        try:
            found = self._worker.run(dict[str, Followed], lambda: self._read(jobs), _TIMEOUT_S)
        except WorkerFailed as error:
            log(f"the progress could not be read: {error}")
            self._rest = _Pause(self._clock.now(), _AFTER_FAILURE_S)
            if first := self._jobs.pop(jobs[0].id, None):
                self._jobs[first.id] = first  # it may be the cause: next time, the others are read before it
            return
        now_s = self._clock.now()
        cpu_s = self._clock.children_cpu_s() - before_s
        rest_s = max(cpu_s / _MAX_CPU_SHARE, (now_s - began_s) / _MAX_SHARE)
        self._rest = _Pause(now_s, min(rest_s, _AFTER_FAILURE_S))
        for job_id, followed in found.items():
            if followed.problem and followed.problem != self._problems.get(job_id):
                log(f"{job_id}: the progress could not be read: {followed.problem}")
            self._problems[job_id] = followed.problem
            self._events[job_id] = followed.events
            if followed.recheck_s is not None and followed.recheck_s > began_s:
                self._rechecks[job_id] = followed.recheck_s
