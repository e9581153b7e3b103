"""A sentinel at work: a job of Slurm's that starts when the watched job is over, and looks after its monitor.

Where that one is gone it becomes the monitor itself: the same lock, the same outbox, the same log. So it
tells what the first one did not, and nothing twice.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.context import Context
from jobmon_core.domain.errors import AlreadyWatched, StateUnreadable, StorageFailed
from jobmon_core.lifecycle.health import Health, JobStatus, job_status
from jobmon_core.lifecycle.process_state import ProcessState
from jobmon_core.store.home import Home
from jobmon_core.store.job_lock import acquire_ownership
from jobmon_core.store.owner import STALE_AFTER_S
from jobmon_core.system.clock import SystemClock, Wake

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.tracking.model import WatchedJob

_LOOK_S = 10.0  # one small file is read
_UMASK = 0o077
_TAKES_NO_MORE = "sentinel"  # no submission offers its job to a monitor of such surroundings


class Sentinel:
    """Looks after one watched job until its monitor has told all, or is gone."""

    def __init__(self, ctx: Context, job_id: str, log: Callable[[str], None]) -> None:
        """Set up for the job with this state id; ``log`` takes what is worth reading later."""
        self._ctx = ctx
        self._job_id = job_id
        self._log = log
        self._said = ""

    def lock_to_take_over(self) -> int | None:
        """Wait; return the monitor's lock once this process is to be the monitor, None where it may leave."""
        while (found := self._look()) is None or found.health is not Health.DONE:
            if found and found.health not in _WAITS and (lock := self._claimed()) is not None:
                self._log(f"{_gone(found)}; this sentinel takes over")
                return lock
            if self._ctx.clock.wait(_LOOK_S) is Wake.TERMINATE:
                who = _monitor(found) if found else "its monitor"
                self._log(f"its time is up, and {who} has not told all yet: it is left to it")
                return None
        self._log(_why_done(found.job))
        return None

    def _look(self) -> JobStatus | None:
        """Return the job as it stands; None where its state can't be read now, as while a server is away."""
        try:
            found = job_status(self._ctx, self._ctx.store.load(self._job_id))
        except StateUnreadable as error:
            self._say_once(f"{error}; tries again")
            return None
        if found.health in _WAITS:
            self._say_once(f"{_monitor(found)} {_WAITS[found.health]}")
        return found

    def _claimed(self) -> int | None:
        """Take the lock, which names this process as the owner; None where that can't be done now."""
        try:
            return acquire_ownership(self._ctx.home.monitors / f"{self._job_id}.lock")
        except AlreadyWatched as error:
            self._say_once(f"left to another one: {error}")
        except StorageFailed as error:
            self._say_once(f"can't take over: {error}; tries again")
        return None

    def _say_once(self, words: str) -> None:
        if words != self._said:
            self._said = words
            self._log(words)


_WAITS = {
    Health.ALIVE: "is at work: it is left to it",
    Health.REMOTE: f"gave a sign lately: it is left to it, unless it is silent for {STALE_AFTER_S:.0f} s",
}


def _monitor(found: JobStatus) -> str:
    return str(found.owner or "its monitor")


def _gone(found: JobStatus) -> str:
    silent = f"gave no sign for more than {STALE_AFTER_S:.0f} s"
    return f"{_monitor(found)} {silent if found.health is Health.STALE else 'is gone'}"


def _why_done(job: WatchedJob) -> str:
    if job.unwatched_s is not None:
        return "nothing to do: `jobmon cancel` ended the watch"
    if job.undelivered:
        return f"nothing to do: {job.undelivered} messages were given up; `jobmon show {job.ref}` says why"
    return "nothing to do: all is told"


def main() -> None:
    """Run on a node: ``HOME STATE_ID``."""
    os.umask(_UMASK)
    signal.pthread_sigmask(signal.SIG_BLOCK, SystemClock.WAKING)
    ctx, job_id = Context(Home(Path(sys.argv[1])), os.environ), sys.argv[2]
    logbook = ctx.monitor_log(job_id)
    name = f"sentinel {os.environ.get('SLURM_JOB_ID', os.getpid())} on {os.uname().nodename}"
    lock = Sentinel(ctx, job_id, lambda event: logbook.write(f"{name}: {event}")).lock_to_take_over()
    if lock is not None:
        ProcessState(ctx.home, {job_id: lock}, env_fingerprint=_TAKES_NO_MORE).exec_monitor()


if __name__ == "__main__":
    main()
