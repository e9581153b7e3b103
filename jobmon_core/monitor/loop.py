"""The loop over all jobs of a monitor: polls each job when it is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.errors import AlreadyWatched, JobForgotten, JobmonError
from jobmon_core.system.clock import Clock, Wake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.monitor.job_monitor import JobMonitor

_RETRY_S = 30.0  # after a poll that failed, e.g. because the disk was full
_HEARTBEAT_S = 60.0
# what an import or call raises if the module is missing now, or does not fit those that were loaded earlier
CODE_REPLACED = (ImportError, AttributeError, TypeError)
_LOOK_S = 3.0  # between two looks at what may make a job due


class MonitorLoop:
    """A set of job monitors, each polled when it is due."""

    def __init__(
        self,
        clock: Clock,
        renew_ownership: Callable[[str], None],
        look: Callable[[], set[str] | None] = lambda: None,
        after_poll: Callable[[tuple[str, ...]], object] = lambda _remaining: None,
    ) -> None:
        """Begin without jobs.

        ``renew_ownership`` is called with each job in every pass, and raises AlreadyWatched if another
        process owns it. ``look`` is called every few seconds while nothing is due; it returns the jobs that
        are due now, None if there is nothing to look at. ``after_poll`` is called after the poll of each job
        with those that remain, since a pass over many jobs takes long. The first and the last may `add` jobs.
        """
        self._job_monitors: dict[str, JobMonitor] = {}  # by state id
        self._due_s: dict[str, float] = {}  # Unix seconds
        self._clock = clock
        self._renew_ownership, self._look, self._after_poll = renew_ownership, look, after_poll
        self.lacks_code = False  # whether an error suggests that jobmon was moved, removed or replaced

    def add(self, state_id: str, job_monitor: JobMonitor) -> None:
        """Poll one more job, or replace its monitor."""
        if state_id in self._job_monitors:
            self.remove(state_id)
        self._job_monitors[state_id] = job_monitor
        self._due_s[state_id] = 0.0

    def remove(self, state_id: str) -> None:
        """Stop polling a job."""
        self._job_monitors.pop(state_id).stop()
        del self._due_s[state_id]

    def run_due(self, log: Callable[[str, str], None], done: Callable[[str], None]) -> tuple[str, ...]:
        """Poll every job that is due; return the state ids of those that remain. Errors are logged.

        ``log`` writes an event (second) to the log of a job (first). ``done`` is called with each job that is
        finished and has been removed.
        """
        for state_id in list(self._job_monitors):
            try:
                self._renew_ownership(state_id)
                if self._due_s[state_id] > self._clock.now():
                    continue
                due_s = self._job_monitors[state_id].poll_once()
            except AlreadyWatched as error:
                if not isinstance(error, JobForgotten):
                    log(state_id, f"stopped watching this job: {error}")
                self.remove(state_id)
                continue
            except JobmonError as error:
                log(state_id, f"this poll failed, trying again in {_RETRY_S:.0f} s: {error}")
                due_s = self._clock.now() + _RETRY_S
            except Exception as error:  # noqa: BLE001 - an internal error with one job must not stop the monitor
                self.lacks_code |= isinstance(error, CODE_REPLACED)
                log(state_id, internal_error_text(error))
                due_s = self._clock.now() + _RETRY_S
            if due_s is None:
                self.remove(state_id)
                done(state_id)
            else:
                self._due_s[state_id] = due_s
            self._after_poll(tuple(self._job_monitors))
        return tuple(self._job_monitors)

    def last_answer_s(self) -> float | None:
        """Do as `last_answer_s` for the jobs of this loop."""
        return last_answer_s(job_monitor.job for job_monitor in self._job_monitors.values())

    def wait(self, other_due_s: float | None = None) -> Wake:
        """Sleep until a job or a heartbeat is due, or a signal arrives; SIGUSR1 makes all jobs due.

        ``other_due_s`` is when something else is due, if anything. Without a whole pass over the jobs, it
        also looks every few seconds whether one has become due.
        """
        due_s = [
            *self._due_s.values(),
            *([] if other_due_s is None else [max(other_due_s, self._clock.now() + 1.0)]),
        ]
        left_s = min(min(due_s) - self._clock.now(), _HEARTBEAT_S)
        while True:
            due = self._look()
            if due:
                self._due_s |= dict.fromkeys(due & self._due_s.keys(), 0.0)
                return Wake.DUE
            step_s = left_s if due is None else min(left_s, _LOOK_S)
            wake = self._clock.wait(step_s)
            left_s -= step_s
            if wake is Wake.NOTIFIED:
                self._due_s = dict.fromkeys(self._due_s, 0.0)
            if wake is not Wake.DUE or left_s <= 0:
                return wake


def last_answer_s(jobs: Iterable[WatchedJob]) -> float | None:
    """Return when the scheduler last answered about the open ones of these jobs (Unix seconds).

    None before its first answer, and while queries about at least one of them fail: a monitor that sees only
    a part of its jobs must not report that all is well.
    """
    live = [job for job in jobs if not job.closed]
    if any(job.stale_since_s is not None for job in live):
        return None
    return max((job.answered_s for job in live if job.answered_s is not None), default=None)


def internal_error_text(error: Exception) -> str:
    """Return the traceback of an internal error, for the log."""
    import traceback  # here, because a monitor that never fails does not load it

    return f"internal error: {''.join(traceback.format_exception(error))}"
