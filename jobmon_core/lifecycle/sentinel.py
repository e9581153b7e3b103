"""A sentinel: a Slurm job that starts when the watched job has ended, to make sure that this is reported.

If the job's monitor is dead or silent for too long, the sentinel becomes the monitor, with the same lock,
outbox and log. So it sends only the messages that were not delivered yet.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.context import Context
from jobmon_core.domain.errors import AlreadyWatched, StateUnreadable, StorageFailed
from jobmon_core.domain.humanize import count
from jobmon_core.lifecycle.health import Health, JobStatus, job_status
from jobmon_core.lifecycle.process_state import ProcessState
from jobmon_core.store.home import Home
from jobmon_core.store.owner import STALE_AFTER_S, acquire_job
from jobmon_core.system.clock import Clock, Wake

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.job.tracking.model import WatchedJob

_POLL_S = 10.0  # each poll reads one or two small files
_UMASK = 0o077
_WAIT_REASONS = {
    Health.ALIVE: "is running; waiting for it",
    Health.REMOTE: "sent a heartbeat recently; "
    f"waiting until it has finished or sent none for {STALE_AFTER_S:.0f} s",
}


class Sentinel:
    """Waits until the monitor of one job has finished, is dead, or has been silent for too long."""

    def __init__(self, ctx: Context, state_id: str, log: Callable[[str], None]) -> None:
        """``log`` writes a line to the job's log."""
        self._ctx, self._state_id, self._log = ctx, state_id, log
        self._last_logged = ""

    def lock_to_take_over(self) -> int | None:
        """Wait; return the job's lock if this process must become its monitor, None if it must exit."""
        while (status := self._job_status()) is None or status.health is not Health.DONE:
            if status and status.health not in _WAIT_REASONS and (lock := self._acquire()) is not None:
                self._log(f"{_describe_loss(status)}; this sentinel takes over")
                return lock
            if self._ctx.clock.wait(_POLL_S) is Wake.TERMINATE:
                monitor = _monitor_name(status) if status else "its monitor"
                self._log(f"terminated (SIGTERM) while {monitor} has not finished")
                return None
        self._log(f"nothing to do: {_describe_end(status.job)}")
        return None

    def _job_status(self) -> JobStatus | None:
        """Return the job's status; None while its state cannot be read, e.g. if a file server is down."""
        try:
            status = job_status(self._ctx, self._ctx.store.load(self._state_id))
        except StateUnreadable as error:
            self._log_once(f"{error}; trying again")
            return None
        if status.health in _WAIT_REASONS:
            self._log_once(f"{_monitor_name(status)} {_WAIT_REASONS[status.health]}")
        return status

    def _acquire(self) -> int | None:
        """Lock the job and become its owner; return the lock, or None if that is not possible now."""
        try:
            return acquire_job(self._ctx.home.lock_file(self._state_id))
        except AlreadyWatched as error:
            self._log_once(f"cannot take over: {error}")
        except StorageFailed as error:
            self._log_once(f"cannot take over: {error}; trying again")
        return None

    def _log_once(self, event: str) -> None:
        if event != self._last_logged:
            self._last_logged = event
            self._log(event)


def _monitor_name(status: JobStatus) -> str:
    return str(status.owner or "its monitor")


def _describe_loss(status: JobStatus) -> str:
    silent = f"has sent no heartbeat for more than {STALE_AFTER_S:.0f} s"
    return f"{_monitor_name(status)} {silent if status.health is Health.STALE else 'is dead'}"


def _describe_end(job: WatchedJob) -> str:
    if job.unwatched_s is not None:
        return "`jobmon cancel` stopped the monitoring"
    if job.undelivered:
        messages = count(job.undelivered, "message")
        return f"{messages} could not be delivered; `jobmon show {job.ref}` says why"
    return "all messages are delivered"


def main() -> None:
    """Run on a compute node, with the arguments ``HOME STATE_ID``."""
    os.umask(_UMASK)
    signal.pthread_sigmask(signal.SIG_BLOCK, Clock.WAKING)
    ctx, state_id = Context(Home(Path(sys.argv[1])), os.environ), sys.argv[2]
    monitor_log = ctx.monitor_log(state_id)
    name = f"sentinel {os.environ.get('SLURM_JOB_ID', os.getpid())} on {os.uname().nodename}"
    lock = Sentinel(ctx, state_id, lambda event: monitor_log.write(f"{name}: {event}")).lock_to_take_over()
    if lock is not None:
        ProcessState(ctx.home, {state_id: lock}).exec_monitor()


if __name__ == "__main__":
    main()
