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

from jobmon_core.context import Context
from jobmon_core.domain.errors import JobmonError, StorageFailed
from jobmon_core.lifecycle.adopt import adopt_job
from jobmon_core.lifecycle.handover import complete_handover, hand_over
from jobmon_core.lifecycle.process_state import ProcessState
from jobmon_core.monitor import wiring
from jobmon_core.monitor.loop import MonitorLoop, describe_fault
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
    process_state = ProcessState.from_argv(sys.argv[1:])
    ctx = Context(process_state.home, os.environ, process_state)
    run(ctx, process_state, lambda job_id, event: ctx.monitor_log(job_id).write(event))


def run(ctx: Context, process_state: ProcessState, log: Log) -> None:
    """Follow jobs to their end; return when all are done, handed over, or SIGTERM asked to leave."""
    _clean_up(ctx, partial(log, next(iter(process_state.locks))))
    fresh_until_s = 0.0
    while not MonitorProcess(ctx, process_state, log, fresh_until_s).run():
        # anew from what is on the disk: the process that was to take over may have gone on a little
        fresh_until_s = ctx.clock.now() + _HANDOVER_AGAIN_S


class MonitorProcess:
    """The watch over the jobs of an estate, taken up where their state files left off."""

    def __init__(self, ctx: Context, process_state: ProcessState, log: Log, fresh_until_s: float) -> None:
        """Take up the jobs, each by itself; do not hand over before ``fresh_until_s`` (Unix seconds)."""
        self._ctx, self._process_state, self._log, self._fresh_until_s = (
            ctx,
            process_state,
            log,
            fresh_until_s,
        )
        self._monitor = MonitorLoop({}, ctx.clock, self._heartbeat_job)
        self._began_s = ctx.clock.now()
        self._is_whole = True  # whether every job could be taken up
        self._own_log = partial(log, next(iter(process_state.locks)))
        self._heartbeat = wiring.heartbeat(ctx, self._own_log)
        self._handoffs = process_state.handoffs
        for job_id in process_state.locks:
            try:
                self._watch(job_id)
            except JobmonError as error:
                log(job_id, f"not watched: {error}")
                self._is_whole = False

    def run(self) -> bool:
        """Watch until nothing is left to do here; return False where all has to be taken up anew."""
        if not self._complete_handover():
            return True
        while True:
            self._tried(self._adopt_handoffs)
            left = self._monitor.run_due(self._log, self._done)
            for job_id in set(self._process_state.locks).difference(left):
                self._tried(partial(self._process_state.release, job_id))
            if not left and not self._tried(self._adopt_handoffs):
                return True
            self._heartbeat.after_poll(self._monitor.last_answer_s())
            self._restart_with_new_code()
            if self._cpu_budget_spent():
                return bool(self._tried(self._hand_over))
            if self._monitor.wait() is Wake.TERMINATE:
                for job_id in self._process_state.locks:
                    self._log(job_id, "asked to leave by SIGTERM; `jobmon recover` takes the job up again")
                return True

    def _complete_handover(self) -> bool:
        """Take over from the monitor that hands over to this process; return False where it keeps all."""
        if self._process_state.handover_pipe is None:
            return True
        return complete_handover(self._process_state, is_able=self._is_whole)

    def _adopt_handoffs(self) -> bool:
        """Take up what is offered to the monitors of these surroundings; return whether anything was."""
        with suppress(StorageFailed):  # one beyond the ceiling comes within it as others end
            self._process_state.acquire_slot()
        before = len(self._process_state.locks)
        for job_id in self._handoffs.pending():
            adopt_job(self._process_state, job_id, self._watch, partial(self._log, job_id))
        return len(self._process_state.locks) > before

    def _cpu_budget_spent(self) -> bool:
        """Whether this process has taken so much CPU time that a fresh one has to go on."""
        clock = self._ctx.clock
        worn = clock.cpu_s() >= self._process_state.cpu_budget_s and clock.now() >= self._fresh_until_s
        return worn and self._monitor.all_saved

    def _hand_over(self) -> bool:
        """Have a fresh process follow the jobs; return False where this one has to go on itself."""
        self._own_log(f"monitor {os.getpid()} hands over, after {self._ctx.clock.cpu_s():.1f} s of CPU time")
        why = hand_over(self._process_state)
        if why:
            self._own_log(f"monitor {os.getpid()} goes on, for it could not hand over: {why}")
        return not why

    def _restart_with_new_code(self) -> None:
        """Begin anew with the code that is there now, where this process can't load its own any more."""
        if self._monitor.lacks_code and self._ctx.clock.now() - self._began_s >= _CODE_AGAIN_S:
            self._own_log(f"monitor {os.getpid()} starts again: jobmon's own code was moved or replaced")
            self._process_state.exec_monitor()

    def _tried(self, work: Callable[[], bool | None]) -> bool | None:
        """Do what must not end the watch over all jobs, whatever comes of it."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - as in the rounds
            self._own_log(describe_fault(error))
            return None

    def _heartbeat_job(self, job_id: str) -> None:
        """Give a sign of life for a job.

        Where nobody is named, somebody took over while this process was silent, and finished or died: what is
        on the disk counts, not what is remembered here.
        """
        record = self._ctx.owner_record(job_id)
        if not record.heartbeat():
            record.claim(Owner.this_process())
            try:
                self._watch(job_id)
            except JobmonError:
                record.remove()  # so that the next sign of life tries again
                raise

    def _watch(self, job_id: str) -> None:
        self._monitor.add(job_id, wiring.job_monitor(self._ctx, job_id, partial(self._log, job_id)))
        self._log(job_id, f"monitor {os.getpid()} watches")

    def _done(self, job_id: str) -> None:
        self._log(job_id, "done")
        self._ctx.owner_record(job_id).remove()
        self._ctx.clear_cancel_request(job_id)


def _clean_up(ctx: Context, log: Callable[[str], None]) -> None:
    try:
        for path, what in ctx.home.clean_up():
            log(f"{path}: {what}")
    except StorageFailed as error:
        log(f"not swept: {error}")


if __name__ == "__main__":
    main()
