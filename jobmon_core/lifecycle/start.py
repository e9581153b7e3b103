"""Start monitors. When all monitor slots are taken, hand the jobs to monitors that already run."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.config import Config
from jobmon_core.domain.errors import AlreadyWatched, ConfigInvalid, StorageFailed
from jobmon_core.lifecycle.prefork import PreforkedMonitor
from jobmon_core.lifecycle.start_status import ALREADY_OWNED, LIMIT_REACHED, READY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.context import Context
    from jobmon_core.lifecycle.recorder import Recorder


class MonitorStarter:
    """Starts monitors for the jobs of one home."""

    def __init__(self, ctx: Context, at_most: int = 0) -> None:
        """Once ``at_most`` monitors run, they take over further jobs; 0 for the configured limit."""
        self._ctx = ctx
        self._at_most = at_most
        self._preforked: PreforkedMonitor | None = None

    def prefork(self, record: Recorder | None = None) -> None:
        """Fork a monitor in advance: it loads its modules while sbatch runs. Call `discard` at the end.

        ``record``, if given, is called in another process and records what is submitted.
        """
        with suppress(StorageFailed):  # `start` tries again
            self._preforked = PreforkedMonitor(record)

    def discard(self) -> None:
        """End the preforked monitor if it was not used."""
        if self._preforked:
            self._preforked.discard()

    def watch(self, state_id: str) -> None:
        """Start monitoring a job, unless a monitor has it since its state file was saved.

        A `jobmon recover` that runs meanwhile may have started one, or another monitor may have adopted it.
        """
        with suppress(AlreadyWatched):
            self.start([state_id])

    def start(self, state_ids: Sequence[str]) -> tuple[str, ...]:
        """Start monitoring the jobs that have no owner; return those monitored because of this call.

        One new monitor takes all of them. If all slots are taken, running monitors adopt them, and a new
        monitor takes those that remain. AlreadyWatched if other monitors own all of them; StorageFailed says
        why the monitor did not start.
        """
        status = self._start_monitor(state_ids)
        adopted: tuple[str, ...] = ()
        if status == LIMIT_REACHED:
            # not at the top: most submissions do not need it
            from jobmon_core.lifecycle.adopt import ADOPTION_TIMEOUT_S, ONLY_MONITOR_TIMEOUT_S, offer_jobs

            timeout_s = ONLY_MONITOR_TIMEOUT_S if self._at_most == 1 else ADOPTION_TIMEOUT_S
            adopted = offer_jobs(self._ctx, state_ids, timeout_s)
            state_ids = [each for each in state_ids if each not in adopted]
            status = self._start_monitor(state_ids, ignore_limit=True) if state_ids else READY
        if status == ALREADY_OWNED:
            if not adopted:
                raise AlreadyWatched("other monitors already watch these jobs")
            return adopted
        if not status.startswith(READY):
            raise StorageFailed(f"the monitor did not start: {status or 'it was killed or did not respond'}")
        return (*adopted, *status.removeprefix(READY).split())

    def _start_monitor(self, state_ids: Sequence[str], *, ignore_limit: bool = False) -> str:
        status, root, limit = "", self._ctx.home.root, self._max_monitors()
        if self._preforked and self._preforked.is_waiting:
            status = self._preforked.start(root, limit, state_ids, ignore_limit=ignore_limit)
        # a preforked process that was killed meanwhile, e.g. by Ctrl-C, returns no status: replace it
        return status or PreforkedMonitor().start(root, limit, state_ids, ignore_limit=ignore_limit)

    def _max_monitors(self) -> int:
        if self._at_most:
            return self._at_most
        try:
            return self._ctx.configuration().monitors
        except ConfigInvalid:  # reported elsewhere; the job must be monitored nevertheless
            return Config().monitors
