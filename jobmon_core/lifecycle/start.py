"""Starting monitors: the command's side. Where there are enough of them, one that runs takes the job up."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.config import Config
from jobmon_core.domain.errors import AlreadyWatched, ConfigInvalid, StorageFailed
from jobmon_core.lifecycle.daemonize import ALREADY_OWNED, LIMIT_REACHED, READY
from jobmon_core.lifecycle.prefork import PreforkedMonitor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.context import Context
    from jobmon_core.store.handoffs import Handoffs

_PATIENCE_S = 2.0  # how long an offer waits for a taker before a monitor is started after all
_EACH_S = 0.1  # how long it waits for one before the next is woken too: one may hang on a dead scheduler
_STEP_S = 0.005


class MonitorStarter:
    """Starts monitors for the jobs of one home."""

    def __init__(self, ctx: Context, preforked: PreforkedMonitor | None = None) -> None:
        """Start the first monitor from ``standby`` where there is one, others from copies of their own."""
        self._ctx = ctx
        self._preforked = preforked

    def start(self, job_ids: Sequence[str]) -> tuple[str, ...]:
        """Have those of these jobs followed that nobody holds (their state files are written).

        That is done by one new monitor; or, where as many run as there may be, by those.

        Returns:
            The jobs that were taken up; the others are left to who has them.

        Raises:
            AlreadyWatched: other monitors hold all of them.
            StorageFailed: the monitor could not start; says why.
        """
        word = self._send(job_ids)
        taken: tuple[str, ...] = ()
        if word == LIMIT_REACHED:
            taken = self._hand(job_ids)
            job_ids = [job_id for job_id in job_ids if job_id not in taken]
            word = self._send(job_ids, beyond=True) if job_ids else READY
        if word == ALREADY_OWNED and not taken:
            raise AlreadyWatched("other monitors have taken them up")
        if word != ALREADY_OWNED and not word.startswith(READY):
            raise StorageFailed(f"the monitor did not start: {word or 'no word from it'}")
        return (*taken, *word.removeprefix(ALREADY_OWNED).removeprefix(READY).split())

    def _send(self, job_ids: Sequence[str], *, beyond: bool = False) -> str:
        word, root, ceiling = "", self._ctx.home.root, self._ceiling()
        if self._preforked and self._preforked.is_waiting:
            word = self._preforked.become_monitor(root, ceiling, job_ids, beyond=beyond)
        # one that was killed meanwhile, by a Ctrl-C say, gave no word: a fresh one does it
        return word or PreforkedMonitor().become_monitor(root, ceiling, job_ids, beyond=beyond)

    def _ceiling(self) -> int:
        try:
            return self._ctx.configuration().monitors
        except (
            ConfigInvalid
        ):  # the user hears of it elsewhere; here it must not keep a job from being watched
            return Config().monitors

    def _hand(self, job_ids: Sequence[str]) -> tuple[str, ...]:
        """Offer the jobs that nobody has to the monitors that run; return those that one took up."""
        from jobmon_core.store.handoffs import Handoffs
        from jobmon_core.system.env_fingerprint import env_fingerprint

        offers = Handoffs(self._ctx.home.handoffs, env_fingerprint(self._ctx.environment))
        offered = [job_id for job_id in job_ids if not self._is_followed(job_id)]
        for job_id in offered:
            offers.create(job_id)
        self._wait(offers, offered)
        # what nobody struck is withdrawn; what somebody struck counts if he lives: the lock has the last word
        return tuple(job for job in offered if not offers.remove(job) and self._is_followed(job))

    def _wait(self, offers: Handoffs, offered: Sequence[str]) -> None:
        """Wake one monitor after the other, and wait until all the offers are struck or it takes too long."""
        deadline_s = self._ctx.clock.now() + _PATIENCE_S
        takers = self._takers(offers.env_fingerprint)
        woken = next(takers, False)
        next_s = self._ctx.clock.now() + _EACH_S
        while woken and any(offers.is_pending(job_id) for job_id in offered):
            if self._ctx.clock.now() > deadline_s:
                return
            if self._ctx.clock.now() > next_s:
                next(takers, None)
                next_s += _EACH_S
            self._ctx.clock.wait(_STEP_S)

    def _takers(self, mark: str) -> Iterator[bool]:
        """Wake the monitors of these surroundings, the one with the fewest jobs first; yield after each."""
        from jobmon_core.store.monitor_slots import MonitorSlots

        for holder in MonitorSlots(self._ctx.home.slots).holders():
            if holder.env_fingerprint == mark:
                with suppress(ProcessLookupError):  # it ended by itself just now
                    os.kill(holder.owner.pid, signal.SIGUSR1)
                yield True

    def _is_followed(self, job_id: str) -> bool:
        """Whether a living process of this host is named as the owner of a job."""
        from jobmon_core.store.owner import Liveness

        found = self._ctx.owner_record(job_id).read()
        return found is not None and found[0].liveness(0.0, 0.0) is Liveness.ALIVE
