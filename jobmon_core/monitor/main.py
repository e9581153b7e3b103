"""The monitor: the process that stays. It follows a set of jobs until each is told or dropped.

Started by `jobmon_core.lifecycle.daemonize` with the locks of its jobs already held; kept small, since a
login node may carry many of it for days.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from jobmon_core.context import Workshop
from jobmon_core.domain.errors import JobmonError, StorageFailed
from jobmon_core.lifecycle.adopt import claim
from jobmon_core.lifecycle.handover import hand_over, report
from jobmon_core.lifecycle.process_state import Estate
from jobmon_core.monitor import wiring
from jobmon_core.monitor.loop import Monitor, describe_fault
from jobmon_core.store.owner import Owner
from jobmon_core.system.clock import SystemClock, Wake

if TYPE_CHECKING:
    from collections.abc import Callable

    Log = Callable[[str, str], None]  # of a job, an event

_AFTER_TROUBLE_S = 30.0  # before a job whose state could not be saved is taken up again
_HEARTBEAT_S = 60.0
_HANDOVER_AGAIN_S = 300.0  # after one that failed
_CODE_AGAIN_S = 300.0  # between two starts for lack of code: the new one may lack it too


def main() -> None:
    """Run the monitor with what `jobmon_core.lifecycle.process_state` hands on."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SystemClock.WAKING)
    estate = Estate.of(sys.argv[1:])
    shop = Workshop(estate.home, os.environ, estate)
    run(shop, estate, lambda job_id, event: shop.monitor_log(job_id).write(event))


def run(shop: Workshop, estate: Estate, log: Log) -> None:
    """Follow jobs to their end; return when all are done, handed over, or SIGTERM asked to leave."""
    _sweep(shop, partial(log, next(iter(estate.locks))))
    fresh_until_s = 0.0
    while not Watch(shop, estate, log, fresh_until_s).keep():
        # anew from what is on the disk: the process that was to take over may have gone on a little
        fresh_until_s = shop.clock.now() + _HANDOVER_AGAIN_S


class Watch:
    """The watch over the jobs of an estate, taken up where their state files left off."""

    def __init__(self, shop: Workshop, estate: Estate, log: Log, fresh_until_s: float) -> None:
        """Take up the jobs, each by itself; do not hand over before ``fresh_until_s`` (Unix seconds)."""
        self._shop, self._estate, self._log, self._fresh_until_s = shop, estate, log, fresh_until_s
        self._monitor = Monitor({}, shop.clock, self._beat)
        self._began_s = shop.clock.now()
        self._is_whole = True  # whether every job could be taken up
        self._own_log = partial(log, next(iter(estate.locks)))
        self._heartbeat = wiring.heartbeat(shop, self._own_log)
        self._offers = estate.offers
        for job_id in estate.locks:
            try:
                self._take_up(job_id)
            except JobmonError as error:
                log(job_id, f"not watched: {error}")
                self._is_whole = False

    def keep(self) -> bool:
        """Watch until nothing is left to do here; return False where all has to be taken up anew."""
        if not self._is_heir():
            return True
        while True:
            self._tried(self._look_for_offers)
            left = self._monitor.pass_over(self._log, self._done)
            for job_id in set(self._estate.locks).difference(left):
                self._tried(partial(self._estate.release, job_id))
            if not left and not self._tried(self._look_for_offers):
                return True
            self._heartbeat.after_pass(self._monitor.heard_s())
            self._renew_code()
            if self._is_worn():
                return bool(self._tried(self._hand_over))
            if self._monitor.wait() is Wake.LEAVE:
                for job_id in self._estate.locks:
                    self._log(job_id, "asked to leave by SIGTERM; `jobmon recover` takes the job up again")
                return True

    def _is_heir(self) -> bool:
        """Take over from the monitor that hands over to this process; return False where it keeps all."""
        if self._estate.predecessor is None:
            return True
        return report(self._estate, is_able=self._is_whole)

    def _look_for_offers(self) -> bool:
        """Take up what is offered to the monitors of these surroundings; return whether anything was."""
        with suppress(StorageFailed):  # one beyond the ceiling comes within it as others end
            self._estate.want_slot()
        before = len(self._estate.locks)
        for job_id in self._offers.open():
            claim(self._estate, job_id, self._take_up, partial(self._log, job_id))
        return len(self._estate.locks) > before

    def _is_worn(self) -> bool:
        """Whether this process has taken so much CPU time that a fresh one has to go on."""
        clock = self._shop.clock
        worn = clock.cpu_s() >= self._estate.cpu_s and clock.now() >= self._fresh_until_s
        return worn and self._monitor.all_saved

    def _hand_over(self) -> bool:
        """Have a fresh process follow the jobs; return False where this one has to go on itself."""
        self._own_log(f"monitor {os.getpid()} hands over, after {self._shop.clock.cpu_s():.1f} s of CPU time")
        why = hand_over(self._estate)
        if why:
            self._own_log(f"monitor {os.getpid()} goes on, for it could not hand over: {why}")
        return not why

    def _renew_code(self) -> None:
        """Begin anew with the code that is there now, where this process can't load its own any more."""
        if self._monitor.lacks_code and self._shop.clock.now() - self._began_s >= _CODE_AGAIN_S:
            self._own_log(f"monitor {os.getpid()} starts again: jobmon's own code was moved or replaced")
            self._estate.become_monitor()

    def _tried(self, work: Callable[[], bool | None]) -> bool | None:
        """Do what must not end the watch over all jobs, whatever comes of it."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - as in the rounds
            self._own_log(describe_fault(error))
            return None

    def _beat(self, job_id: str) -> None:
        """Give a sign of life for a job.

        Where nobody is named, somebody took over while this process was silent, and finished or died: what is
        on the disk counts, not what is remembered here.
        """
        record = self._shop.owner_record(job_id)
        if not record.beat():
            record.claim(Owner.this_process())
            try:
                self._take_up(job_id)
            except JobmonError:
                record.remove()  # so that the next sign of life tries again
                raise

    def _take_up(self, job_id: str) -> None:
        self._monitor.add(job_id, wiring.supervisor(self._shop, job_id, partial(self._log, job_id)))
        self._log(job_id, f"monitor {os.getpid()} watches")

    def _done(self, job_id: str) -> None:
        self._log(job_id, "done")
        self._shop.owner_record(job_id).remove()
        self._shop.withdraw_request(job_id)


def _sweep(shop: Workshop, log: Callable[[str], None]) -> None:
    try:
        for path, what in shop.home.sweep():
            log(f"{path}: {what}")
    except StorageFailed as error:
        log(f"not swept: {error}")


if __name__ == "__main__":
    main()
