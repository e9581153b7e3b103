"""The monitor: the process that stays. It follows a set of jobs until each is told or dropped.

Started by `jobmon_core.engine.detach` with the locks of its jobs already held; kept small, since a
login node may carry many of it for days.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import JobmonError, StorageFailed
from jobmon_core.domain.heartbeat import heard_s
from jobmon_core.engine import toolbox
from jobmon_core.engine.clock import Clock, SystemClock, Wake
from jobmon_core.engine.wiring import Workshop
from jobmon_core.store.home import Home

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.engine.supervisor import Supervisor

_AFTER_TROUBLE_S = 30.0  # before a job whose state could not be saved is taken up again
_HEARTBEAT_S = 60.0


class Monitor:
    """A set of supervisors, each called when it is due."""

    def __init__(self, supervisors: dict[str, Supervisor], clock: Clock, beat: Callable[[str], None]) -> None:
        """Watch ``supervisors``, by the ids of their jobs; ``beat`` gives a sign of life for one."""
        self._supervisors = supervisors
        self._due = dict.fromkeys(supervisors, 0.0)
        self._clock = clock
        self._beat = beat

    def pass_over(self, log: Callable[[str, str], None], done: Callable[[str], None]) -> tuple[str, ...]:
        """Call every supervisor that is due; return the jobs that are left to follow.

        Trouble with one job leaves the others alone.
        """
        for job_id, supervisor in list(self._supervisors.items()):
            try:
                self._beat(job_id)
                if self._due[job_id] > self._clock.now():
                    continue
                due = supervisor.round()
            except JobmonError as error:
                log(job_id, f"trouble: {error}")
                due = self._clock.now() + _AFTER_TROUBLE_S
            except Exception:  # noqa: BLE001 - a fault of ours in one job must not end the watch over all
                log(job_id, f"a fault of jobmon itself: {traceback.format_exc()}")
                due = self._clock.now() + _AFTER_TROUBLE_S
            if due is None:
                del self._supervisors[job_id], self._due[job_id]
                done(job_id)
            else:
                self._due[job_id] = due
        return tuple(self._supervisors)

    def heard_s(self) -> float | None:
        """Return when the scheduler last answered (Unix seconds); None where it does not now."""
        return heard_s(supervisor.job for supervisor in self._supervisors.values())

    def wait(self) -> Wake:
        """Sleep until something is due; a request makes everything due."""
        now_s = self._clock.now()
        wake = self._clock.wait(min(min(self._due.values()) - now_s, _HEARTBEAT_S))
        if wake is Wake.ASKED:
            self._due = dict.fromkeys(self._due, 0.0)
        return wake


def main() -> None:
    """Run the monitor: ``HOME LOCK_FD[,LOCK_FD...] JOB...``."""
    home, locks, job_ids = Home(Path(sys.argv[1])), sys.argv[2].split(","), sys.argv[3:]
    signal.pthread_sigmask(signal.SIG_BLOCK, SystemClock.WAKING)
    shop = Workshop(home, os.environ, tuple(int(lock) for lock in locks))
    logbooks = {job_id: shop.monitor_log(job_id) for job_id in job_ids}
    run(shop, job_ids, lambda job_id, event: logbooks[job_id].write(event))


def run(shop: Workshop, job_ids: list[str], log: Callable[[str, str], None]) -> None:
    """Follow jobs to their end; return when all are done or SIGTERM asked to leave."""
    supervisors = {}
    _sweep(shop, partial(log, job_ids[0]))
    for job_id in job_ids:
        try:
            supervisors[job_id] = toolbox.supervisor(shop, job_id, partial(log, job_id))
            log(job_id, f"monitor {os.getpid()} watches")
        except JobmonError as error:
            log(job_id, f"not watched: {error}")
    monitor = Monitor(supervisors, shop.clock, lambda job_id: shop.owner_record(job_id).beat())

    def done(job_id: str) -> None:
        log(job_id, "done")
        shop.owner_record(job_id).remove()
        shop.withdraw_request(job_id)

    heartbeat = toolbox.heartbeat(shop, partial(log, job_ids[0]))
    while True:
        left = monitor.pass_over(log, done)
        if not left:
            return
        heartbeat.after_pass(monitor.heard_s())
        if monitor.wait() is Wake.LEAVE:
            for job_id in left:
                log(job_id, "asked to leave by SIGTERM; `jobmon recover` takes the job up again")
            return


def _sweep(shop: Workshop, log: Callable[[str], None]) -> None:
    try:
        for path, what in shop.home.sweep():
            log(f"{path}: {what}")
    except StorageFailed as error:
        log(f"not swept: {error}")


if __name__ == "__main__":
    main()
