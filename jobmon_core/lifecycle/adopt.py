"""Hand jobs to monitors that already run, when all monitor slots are taken.

An offer is an empty file whose name holds the job and the fingerprint of the environment. Any monitor with
that fingerprint may adopt the job. The job's lock decides who monitors it, so a leftover offer is harmless.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import AlreadyWatched, JobmonError
from jobmon_core.store.monitor_slots import slot_holders
from jobmon_core.store.owner import Health, acquire_job
from jobmon_core.system.environment import env_fingerprint
from jobmon_core.system.files import private_folder, touch_private

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from jobmon_core.context import Context
    from jobmon_core.lifecycle.process_state import ProcessState

MAX_JOBS = 500  # per monitor: each job takes a file descriptor, and many hosts allow 1,024
ADOPTION_TIMEOUT_S = 2.0  # without it, one monitor more runs than the limit allows
ONLY_MONITOR_TIMEOUT_S = 20.0  # if the user was promised a single one, which may be loading its modules
_WAKE_INTERVAL_S = 0.1  # between two monitors: the first may be waiting for a scheduler that does not respond
_POLL_S = 0.005


@dataclass(frozen=True, slots=True)
class JobOffers:
    """The jobs offered to monitors with one environment fingerprint, as empty files."""

    folder: Path
    env_fingerprint: str

    def create(self, state_id: str) -> None:
        """Offer a job."""
        touch_private(private_folder(self.folder) / self._name(state_id))

    def remove(self, state_id: str) -> None:
        """Withdraw an offer. If its file stays, monitors only try in vain to adopt the job."""
        with suppress(OSError):
            (self.folder / self._name(state_id)).unlink()

    def offered_jobs(self) -> list[str]:
        """Return the state ids of the offered jobs, sorted."""
        suffix = self._name("")
        try:
            names = os.listdir(self.folder)  # noqa: PTH208 - names suffice, at every pass of a monitor
        except OSError:  # the folder is missing: no job was ever offered
            return []
        return sorted(name.removesuffix(suffix) for name in names if name.endswith(suffix))

    def _name(self, state_id: str) -> str:
        return f"{state_id}@{self.env_fingerprint}.offer"


def offer_jobs(ctx: Context, state_ids: Sequence[str], timeout_s: float) -> tuple[str, ...]:
    """Offer the jobs without an owner to running monitors; return those that are adopted in time."""
    offers = JobOffers(ctx.home.offers, env_fingerprint(ctx.environment))
    offered = [state_id for state_id in state_ids if not _is_owned(ctx, state_id)]
    for state_id in offered:
        offers.create(state_id)
    _wake_monitors(ctx, offers, offered, timeout_s)
    for state_id in offered:
        offers.remove(state_id)
    return tuple(state_id for state_id in offered if _is_owned(ctx, state_id))


def _wake_monitors(ctx: Context, offers: JobOffers, offered: Sequence[str], timeout_s: float) -> None:
    """Wake one monitor after another, the least busy first, until no offer is pending or the time is up."""
    deadline_s = ctx.clock.now() + timeout_s
    holders = slot_holders(ctx.home.slots)
    candidates = [holder for holder in holders if holder.env_fingerprint == offers.env_fingerprint]
    for number, holder in enumerate(candidates, 1):
        holder.owner.wake()
        is_last = number == len(candidates)
        until_s = deadline_s if is_last else min(deadline_s, ctx.clock.now() + _WAKE_INTERVAL_S)
        while ctx.clock.now() < until_s:
            if set(offered).isdisjoint(offers.offered_jobs()):
                return
            ctx.clock.wait(_POLL_S)


def _is_owned(ctx: Context, state_id: str) -> bool:
    """Whether a living process of this host owns a job."""
    owner = ctx.owner_record(state_id).read()
    return owner is not None and owner[0].health() is Health.ALIVE


def adopt_job(
    process_state: ProcessState,
    offers: JobOffers,
    state_id: str,
    watch: Callable[[str], None],
    log: Callable[[str], None],
) -> None:
    """Adopt one offered job, unless another process owns it or this one has too many jobs.

    The offer is removed last, so that a submission that sees it removed finds a living owner. If this process
    is killed before, the kernel frees the lock, and the offer or a dead owner remains. If ``watch``, which
    begins to monitor the job, raises JobmonError, the job is released and the offer removed.
    """
    if len(process_state.locks) >= MAX_JOBS:
        return
    try:
        if state_id not in process_state.locks:
            process_state.locks[state_id] = acquire_job(process_state.home.lock_file(state_id))
            watch(state_id)
            process_state.write_slot()
    except AlreadyWatched:
        return
    except JobmonError as error:
        log(f"cannot adopt the offered job: {error}")
        process_state.release(state_id)
    offers.remove(state_id)
