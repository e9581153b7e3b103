"""The loop over a set of jobs: each job monitor is called when it is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.errors import AlreadyWatched, JobmonError
from jobmon_core.domain.heartbeat import last_answer_s
from jobmon_core.system.clock import Clock, Wake

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.monitor.job_monitor import JobMonitor

    Log = Callable[[str, str], None]  # of a job, an event

_AFTER_TROUBLE_S = 30.0  # before a job whose state could not be saved is taken up again
_HEARTBEAT_S = 60.0
_HANDOVER_AGAIN_S = 300.0  # after one that failed
_CODE_AGAIN_S = 300.0  # between two starts for lack of code: the new one may lack it too


class MonitorLoop:
    """A set of supervisors, each called when it is due."""

    def __init__(
        self, job_monitors: dict[str, JobMonitor], clock: Clock, beat: Callable[[str], None]
    ) -> None:
        """Watch ``supervisors``, by the ids of their jobs; ``beat`` gives a sign of life for one.

        It may put another supervisor in the place of the one that is there.
        """
        self._job_monitors = job_monitors
        self._due = dict.fromkeys(job_monitors, 0.0)
        self._clock = clock
        self._beat = beat
        self._unsaved: set[str] = set()  # jobs of which the disk may not hold what is known
        self.lacks_code = False  # jobmon was moved, removed or replaced since this process began

    def add(self, job_id: str, job_monitor: JobMonitor) -> None:
        """Watch one more job from now on, or one anew."""
        if job_id in self._job_monitors:
            self.remove(job_id)
        self._job_monitors[job_id] = job_monitor
        self._due[job_id] = 0.0

    def remove(self, job_id: str) -> None:
        """Watch a job no longer."""
        self._job_monitors.pop(job_id).stop()
        del self._due[job_id]
        self._unsaved.discard(job_id)

    @property
    def all_saved(self) -> bool:
        """Whether the disk holds everything, so that another process may take over."""
        return not self._unsaved

    def run_due(self, log: Callable[[str, str], None], done: Callable[[str], None]) -> tuple[str, ...]:
        """Call every supervisor that is due; return the jobs that are left to follow.

        Trouble with one job leaves the others alone.
        """
        for job_id in list(self._job_monitors):
            try:
                self._beat(job_id)
                if self._due[job_id] > self._clock.now():
                    continue
                self._unsaved.add(job_id)
                due = self._job_monitors[job_id].poll_once()
                self._unsaved.discard(job_id)
            except AlreadyWatched as error:
                log(job_id, f"left alone from now on: {error}")
                self.remove(job_id)
                continue
            except JobmonError as error:
                log(job_id, f"trouble: {error}")
                due = self._clock.now() + _AFTER_TROUBLE_S
            except Exception as error:  # noqa: BLE001 - a fault of ours in one job must not end the watch over all
                self.lacks_code |= isinstance(error, ImportError)
                log(job_id, describe_fault(error))
                due = self._clock.now() + _AFTER_TROUBLE_S
            if due is None:
                self.remove(job_id)
                done(job_id)
            else:
                self._due[job_id] = due
        return tuple(self._job_monitors)

    def last_answer_s(self) -> float | None:
        """Return when the scheduler last answered (Unix seconds); None where it does not now."""
        return last_answer_s(job_monitor.job for job_monitor in self._job_monitors.values())

    def wait(self) -> Wake:
        """Sleep until something is due; a request makes everything due."""
        now_s = self._clock.now()
        wake = self._clock.wait(min(min(self._due.values()) - now_s, _HEARTBEAT_S))
        if wake is Wake.NOTIFIED:
            self._due = dict.fromkeys(self._due, 0.0)
        return wake


def describe_fault(error: Exception) -> str:
    """Return the traceback of a fault of ours, for the log."""
    import traceback  # only here: a monitor that waits for days stays small

    return f"a fault of jobmon itself: {''.join(traceback.format_exception(error))}"
