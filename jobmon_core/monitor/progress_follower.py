"""Read the logs of a monitor's running jobs at intervals. One child process reads all logs that are due.

Pending jobs are looked at once or twice: whether they wait for longer than jobs of their name usually do.

Jobs with the same interval are due together. Logs that may show a failure are read again soon.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.job.tracking.tasks import waiting_task
from jobmon_core.domain.logs.progress.events.event import Event, Followed
from jobmon_core.system.helper import Helper, HelperFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.system.clock import Clock

Events = tuple[Event, ...]  # the latest ones of a job, oldest first

_YOUNG_S, _YOUNG_INTERVAL_S = 120.0, 10.0  # new runs are read often, so that their pace is known if they hang
_LAUNCH_S, _LAUNCH_INTERVAL_S = 60.0, 5.0  # and even more often while the launch is checked
_MIN_INTERVAL_S = 5.0
_EARLY_BACKOFF_S = 60.0  # the pause between early readings doubles if they are less than this apart
_MAX_IGNORED_PAUSE_S = 60.0  # early readings do not wait for a pause of all jobs up to this length
# Many jobs are read less often: readings take at most these shares of one processor's time and of wall time.
# The second is larger, so that other work on the machine delays readings less.
_MAX_CPU_SHARE = 0.02
_MAX_TIME_SHARE = 0.1
_TIMEOUT_S = 20.0
_FIRST_WAIT_S = 600.0  # a shorter wait is not worth a look
_MAX_PAUSE_S = 600.0  # also the pause after a failed reading, e.g. while a file server does not respond


@dataclass(frozen=True, slots=True)
class _Pause:
    """A time in which logs are not read."""

    since_s: float = 0.0  # Unix seconds
    duration_s: float = 0.0

    @property
    def end_s(self) -> float:
        return self.since_s + self.duration_s

    def is_over(self, now_s: float) -> bool:
        return not 0 <= now_s - self.since_s < self.duration_s


class ProgressFollower:
    """Decides when the logs of each job are read, and keeps the events of the latest reading."""

    def __init__(
        self,
        read: Callable[[tuple[WatchedJob, ...]], dict[str, Followed]],
        helper: Helper,
        clock: Clock,
        interval_s: float,
    ) -> None:
        """Start without jobs; ``read`` is called in a child, and returns what it found by state id."""
        self._read, self._helper, self._clock, self._interval_s = read, helper, clock, interval_s
        self._jobs: dict[str, WatchedJob] = {}
        self._pauses: dict[float, _Pause] = {}  # of the jobs with each interval
        self._common_pause = _Pause()  # applies to all jobs
        self._urgent: set[str] = set()  # state ids
        self._early_pause = _Pause()  # between early readings
        self._problems: dict[str, str] = {}
        self._events: dict[str, Events] = {}
        self._rechecks: dict[str, float] = {}  # when the logs of a state id are read again (Unix seconds)
        self._waits: dict[str, tuple[float, WatchedJob]] = {}  # when to look at the wait of a pending job

    def follow(self, job: WatchedJob, log: Callable[[str], None]) -> Events:
        """Return the latest events of a job, if its logs were read since the last call.

        The last lines of a job that has ended are left to its diagnosis, which reads the logs anyway.
        """
        if job.is_running:
            self._jobs[job.id] = job
            self._waits.pop(job.id, None)
            self._read_if_due(job, log)
        else:
            self._jobs.pop(job.id, None)
            self._rechecks.pop(job.id, None)
            self._look_at_wait(job, log)
        return self._events.pop(job.id, ())

    def may_have_failed(self, job: WatchedJob) -> bool:
        """Whether the logs of a job may show a failure, so that they are read again soon."""
        return job.id in self._rechecks

    def request_early_reading(self, state_id: str) -> None:
        """Read the logs of a job earlier than planned, e.g. because one of them has an error."""
        self._urgent.add(state_id)

    def _look_at_wait(self, job: WatchedJob, log: Callable[[str], None]) -> None:
        """Look at all jobs that have waited for long, if this one has."""
        if waiting_task(job) is None:
            self._waits.pop(job.id, None)
            return
        now_s = self._clock.now()
        due_s, _ = self._waits.get(job.id, (job.registered_s + _FIRST_WAIT_S, job))
        self._waits[job.id] = due_s, job
        if due_s <= now_s:
            due = tuple(each for at_s, each in self._waits.values() if at_s <= now_s)
            self._waits |= {each.id: (now_s + _MAX_PAUSE_S, each) for each in due}
            self._read_logs(due, log)

    def _read_if_due(self, job: WatchedJob, log: Callable[[str], None]) -> None:
        now_s = self._clock.now()
        if self._rechecks.get(job.id, float("inf")) <= now_s:
            self._read_logs((job,), log)
            return
        if job.id in self._urgent and all(pause.is_over(now_s) for pause in self._pauses_of_early()):
            is_first = not 0 <= now_s - self._early_pause.since_s < _EARLY_BACKOFF_S
            pause_s = _MIN_INTERVAL_S if is_first else min(2 * self._early_pause.duration_s, self._interval_s)
            self._early_pause = _Pause(now_s, pause_s)
        elif not (self._common_pause.is_over(now_s) and self._pause_of(job).is_over(now_s)):
            return
        due = self._due(now_s)
        self._pauses |= {each: _Pause(now_s, each) for each in map(self._interval_of, due)}
        self._urgent -= {each.id for each in due}
        self._read_logs(due, log)

    def due_s(self, job: WatchedJob) -> float:
        """Return when the logs of a job are due next (Unix seconds).

        Infinity if nothing but the default interval applies, since such logs are read whenever the scheduler
        is queried, and for a job that is not followed.
        """
        recheck_s = self._rechecks.get(job.id, float("inf"))
        if job.id in self._jobs and job.id in self._urgent:
            return min(recheck_s, max(pause.end_s for pause in self._pauses_of_early()))
        if job.id not in self._jobs or self._interval_of(job) == self._interval_s:
            return recheck_s
        pauses = (self._pause_of(job), self._common_pause)
        return min(recheck_s, max(pause.end_s for pause in pauses))

    def _due(self, now_s: float) -> tuple[WatchedJob, ...]:
        jobs = self._jobs.values()
        return tuple(job for job in jobs if job.id in self._urgent or self._pause_of(job).is_over(now_s))

    def _pauses_of_early(self) -> tuple[_Pause, ...]:
        is_ignored = self._common_pause.duration_s <= _MAX_IGNORED_PAUSE_S
        if is_ignored:
            return (self._early_pause,)
        return (self._early_pause, self._common_pause)

    def _pause_of(self, job: WatchedJob) -> _Pause:
        return self._pauses.get(self._interval_of(job), _Pause())

    def _interval_of(self, job: WatchedJob) -> float:
        wanted_s = job.own_settings.check_interval_s
        usual_s = self._interval_s
        if wanted_s:
            usual_s = max(_MIN_INTERVAL_S, wanted_s)
        started_s = min((task.start_s for task in job.tasks.values() if task.start_s), default=0.0)
        age_s = self._clock.now() - started_s
        if not 0 <= age_s < _YOUNG_S:
            return usual_s
        return min(usual_s, _LAUNCH_INTERVAL_S if age_s < _LAUNCH_S else _YOUNG_INTERVAL_S)

    def forget(self, state_id: str) -> None:
        """Stop reading the logs of a job."""
        self._jobs.pop(state_id, None)
        self._events.pop(state_id, None)
        self._problems.pop(state_id, None)
        self._rechecks.pop(state_id, None)
        self._waits.pop(state_id, None)
        self._urgent.discard(state_id)

    def _read_logs(self, jobs: tuple[WatchedJob, ...], log: Callable[[str], None]) -> None:
        began_s, before_s = self._clock.now(), self._clock.children_cpu_s()
        for job in jobs:
            self._rechecks.pop(job.id, None)
        try:
            found = self._helper.run(dict[str, Followed], lambda: self._read(jobs), _TIMEOUT_S)
        except HelperFailed as error:
            log(f"the progress could not be read: {error}")
            self._common_pause = _Pause(self._clock.now(), _MAX_PAUSE_S)
            if first := self._jobs.pop(jobs[0].id, None):
                self._jobs[first.id] = first  # it may be the cause, so the others come first next time
            return
        now_s = self._clock.now()
        cpu_s = self._clock.children_cpu_s() - before_s
        pause_s = max(cpu_s / _MAX_CPU_SHARE, (now_s - began_s) / _MAX_TIME_SHARE)
        self._common_pause = _Pause(now_s, min(pause_s, _MAX_PAUSE_S))
        for state_id, followed in found.items():
            if followed.problem and followed.problem != self._problems.get(state_id):
                log(f"{state_id}: the progress could not be read: {followed.problem}")
            self._problems[state_id] = followed.problem
            self._events[state_id] = followed.events
            if state_id in self._waits:
                again_s = float("inf") if followed.wait_s is None else followed.wait_s
                self._waits[state_id] = again_s, self._waits[state_id][1]
            if followed.recheck_s is not None and followed.recheck_s > began_s:
                self._rechecks[state_id] = followed.recheck_s
