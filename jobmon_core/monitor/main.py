"""The monitor process: watches jobs until each has ended and been reported, or `jobmon cancel` stops it.

It stays small, because a login node may run many of them for days.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from jobmon_core.context import Context
from jobmon_core.domain.errors import AlreadyWatched, JobForgotten, JobmonError, StorageFailed
from jobmon_core.lifecycle.adopt import JobOffers, adopt_job
from jobmon_core.lifecycle.process_state import ProcessState, hand_over
from jobmon_core.monitor.jobless_messages import MessageSender, keep_sending
from jobmon_core.monitor.loop import CODE_REPLACED, MonitorLoop, internal_error_text
from jobmon_core.monitor.wiring import MonitorFactory
from jobmon_core.store.owner import Owner
from jobmon_core.system.clock import Clock, Wake

if TYPE_CHECKING:
    from collections.abc import Callable

    Log = Callable[[str, str], None]  # writes an event (second) to the log of a job (first)

T = TypeVar("T")

_HANDOVER_RETRY_S = 300.0
_GROUP_RETRY_S = 30.0  # e.g. while the disk is full
_RESTART_RETRY_S = 300.0  # the error may occur again after the restart


def main() -> None:
    """Run the monitor with the arguments that `ProcessState.to_argv` returned."""
    signal.pthread_sigmask(signal.SIG_BLOCK, Clock.WAKING)
    process_state = ProcessState.from_argv(sys.argv[1:])
    ctx = Context(process_state.home, os.environ, process_state)
    run(ctx, process_state, lambda state_id, event: ctx.monitor_log(state_id).write(event))


def run(ctx: Context, process_state: ProcessState, log: Log) -> None:
    """Run a monitor until no job is left, another process takes over, or SIGTERM arrives."""
    log_first = partial(log, next(iter(process_state.locks)))
    try:
        for path in ctx.home.clean_up():
            log_first(f"{path}: removed: a killed process left it behind")
    except StorageFailed as error:
        log_first(f"cannot remove leftover files: {error}")
    MonitorProcess(ctx, process_state, log).run()


class MonitorProcess:
    """One monitor with all of its jobs."""

    def __init__(self, ctx: Context, process_state: ProcessState, log: Log) -> None:
        """Load each job from its state file; log those that cannot be read: `run` releases them."""
        self._ctx, self._process_state, self._log = ctx, process_state, log
        self._log_first = partial(log, next(iter(process_state.locks)))
        self._factory = MonitorFactory(ctx)
        self._loop = MonitorLoop(ctx.clock, self._renew_ownership, self._factory.look, self._after_poll)
        self._heartbeat = self._factory.heartbeat(self._log_first)
        self._messages = MessageSender(ctx)
        self._groups = self._factory.groups(self._log_first)
        self._groups_due_s: float | None = None
        self._offers = JobOffers(ctx.home.offers, process_state.env_fingerprint)
        self._handover_not_before_s = 0.0
        self._restart_not_before_s = ctx.clock.now() + _RESTART_RETRY_S
        for state_id in process_state.locks:
            try:
                self._watch(state_id)
            except JobmonError as error:
                log(state_id, f"cannot watch this job: {error}")

    def run(self) -> None:
        """Poll the jobs until none is left, another process takes over, or SIGTERM arrives.

        A monitor whose home the user has removed ends too, and does not create it again.
        """
        while not self._ctx.home.was_removed():
            self._guard(self._adopt_offered)
            remaining = self._loop.run_due(self._log, self._finish)
            self._release_all_but(remaining)
            self._guard(partial(self._poll_groups, remaining))
            self._guard(self._messages.send_due)
            if not remaining and not self._guard(self._adopt_offered):
                self._guard(self._complete_groups)
                self._process_state.release_slot()  # a monitor that only sends adopts no jobs
                self._guard(partial(keep_sending, self._ctx, self._messages))
                return
            self._heartbeat.after_poll(self._loop.last_answer_s())
            self._restart_with_new_code()
            if self._handover_is_due() and self._hand_over():
                return
            if self._loop.wait(self._groups_due_s) is Wake.TERMINATE:
                for state_id in self._process_state.locks:
                    self._log(state_id, "terminated (SIGTERM); `jobmon recover` restarts the monitoring")
                return

    def _after_poll(self, remaining: tuple[str, ...]) -> None:
        """Adopt what is offered while other jobs are still to be polled.

        A job that has just been finished is released first: it may be offered again at once.
        """
        self._release_all_but(remaining)
        self._guard(self._adopt_offered)

    def _release_all_but(self, remaining: tuple[str, ...]) -> None:
        for state_id in set(self._process_state.locks).difference(remaining):
            self._guard(partial(self._process_state.release, state_id))

    def _poll_groups(self, own: tuple[str, ...]) -> None:
        self._groups_due_s = self._ctx.clock.now() + _GROUP_RETRY_S  # in case this fails
        self._groups_due_s = self._groups.run_due(own)

    def _complete_groups(self) -> None:
        """Poll the groups whose members have all ended; try again while they cannot be saved."""
        while not self._ctx.home.was_removed():
            try:
                self._groups.run_due(None)
            except StorageFailed as error:
                self._log_first(f"a group cannot be saved, trying again: {error}")
                if self._ctx.clock.wait(_GROUP_RETRY_S) is not Wake.TERMINATE:
                    continue
            return

    def _adopt_offered(self) -> bool:
        if not self._process_state.max_monitors:  # a sentinel
            return False
        with suppress(StorageFailed):
            self._process_state.acquire_slot()  # one may be free by now
        before = len(self._process_state.locks)
        for state_id in self._offers.offered_jobs():
            adopt_job(self._process_state, self._offers, state_id, self._watch, partial(self._log, state_id))
        return len(self._process_state.locks) > before

    def _handover_is_due(self) -> bool:
        clock = self._ctx.clock
        is_spent = clock.cpu_s() >= self._process_state.cpu_budget_s
        return is_spent and clock.now() >= self._handover_not_before_s

    def _hand_over(self) -> bool:
        """Hand over to a fresh process; return whether this process must exit."""
        pid = os.getpid()
        self._log_first(f"monitor {pid} hands over after {self._ctx.clock.cpu_s():.1f} s of CPU time")
        try:
            if hand_over(self._process_state):
                return True
            self._log_first(f"monitor {os.getpid()} replaces monitor {pid}")
        except StorageFailed as error:
            self._handover_not_before_s = self._ctx.clock.now() + _HANDOVER_RETRY_S
            self._log_first(f"monitor {pid} continues, because the handover failed: {error}")
        return False

    def _restart_with_new_code(self) -> None:
        """Exec a fresh monitor if code may have been moved or replaced; at most once in five minutes."""
        clock = self._ctx.clock
        if not self._loop.lacks_code or clock.now() < self._restart_not_before_s:
            return
        problem = "the new code cannot be loaded"
        if self._process_state.can_start_monitor():
            self._log_first(
                f"monitor {os.getpid()} restarts, because jobmon's code seems to have been moved or replaced"
            )
            try:
                self._process_state.exec_monitor()
            except OSError as error:  # e.g. the interpreter was removed just now
                problem = f"{sys.executable} cannot be started: {error.strerror}"
        self._restart_not_before_s = clock.now() + _RESTART_RETRY_S
        self._log_first(
            f"monitor {os.getpid()} continues with its old code, trying again in {_RESTART_RETRY_S:.0f} s: "
            f"{problem}"
        )

    def _guard(self, work: Callable[[], T]) -> T | None:
        """Run ``work`` and return its result; log an exception instead of letting it stop the monitor."""
        try:
            return work()
        except JobmonError as error:  # e.g. the disk is full
            self._log_first(str(error))
            return None
        except Exception as error:  # noqa: BLE001 - an internal error, reported in the log
            self._loop.lacks_code |= isinstance(error, CODE_REPLACED)
            self._log_first(internal_error_text(error))
            return None

    def _renew_ownership(self, state_id: str) -> None:
        """Update the heartbeat of a job, and restore its owner record if that is missing.

        While this process was silent, another one may have become the owner, removed the record and ended.
        The state on disk is then newer than the state in memory, so the job is loaded again. AlreadyWatched
        if another process owns it now, or its state file was removed; JobForgotten if all of its files were,
        and what this process has written since.
        """
        record = self._ctx.owner_record(state_id)
        if self._ctx.store.is_missing(state_id):
            if record.read():
                raise AlreadyWatched("its state file was removed")
            from jobmon_core.store.remove_job import remove_job_files  # rarely needed

            remove_job_files(self._ctx.home, state_id)
            raise JobForgotten(f"{state_id} was forgotten")
        if not record.heartbeat():
            record.claim(Owner.this_process())
            try:
                self._watch(state_id)
            except JobmonError:
                record.remove()  # so that the next heartbeat loads the job
                raise

    def _watch(self, state_id: str) -> None:
        self._loop.add(state_id, self._factory.job_monitor(state_id, partial(self._log, state_id)))
        self._log(state_id, f"monitor {os.getpid()} watches this job")

    def _finish(self, state_id: str) -> None:
        self._log(state_id, "done")
        self._ctx.cancel_request(state_id).clear()


if __name__ == "__main__":
    main()
