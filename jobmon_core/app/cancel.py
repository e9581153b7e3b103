"""Stop watching a job; the job itself is not touched."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import UnknownJob
from jobmon_core.lifecycle.health import Health, snapshot, watched

if TYPE_CHECKING:
    from jobmon_core.context import Workshop
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.model import WatchedJob

from jobmon_core.app.recover import Finding, name_of

_PATIENCE_S = 5.0  # how long a monitor may take to heed a request
_STEP_S = 0.05


def cancel(shop: Workshop, ref: JobRef) -> Finding:
    """Stop watching a job; the job itself is not touched.

    Raises:
        UnknownJob: it is not watched, or only as a part of something larger.
        StateUnreadable: its state file can't be read.
        StorageFailed: the disk refused.
    """
    found = [job for job in watched(shop, ref) if snapshot(shop, job).health is not Health.DONE]
    if not found:
        raise UnknownJob(f"job {ref} is not watched; `jobmon status` lists what is")
    whole = next((job for job in found if job.scope == ref.key), None)
    if whole is None:
        raise UnknownJob(
            f"job {ref} is watched as part of {found[-1].ref}; `jobmon cancel {found[-1].ref}` stops that"
        )
    return Finding(name_of(whole), _drop(shop, whole))


def _drop(shop: Workshop, job: WatchedJob) -> str:
    """Leave a request, wake the monitor, and wait for it to go; do its part where it is gone."""
    shop.request_drop(job.id)
    now = snapshot(shop, job)
    if now.health is Health.ALIVE and now.owner:
        _wake(now.owner.pid)
        deadline_s = shop.clock.now() + _PATIENCE_S
        while (now := snapshot(shop, job)).health is Health.ALIVE and shop.clock.now() < deadline_s:
            shop.clock.wait(_STEP_S)
    if now.health is Health.DEAD:
        shop.store.save(replace(shop.store.load(job.id), dropped_s=shop.clock.now()))
        shop.withdraw_request(job.id)
    if now.owner and now.health not in (Health.DEAD, Health.DONE):
        where = f"monitor {now.owner.pid} on {now.owner.host}"
        return f"{where} was asked to stop, and will as soon as it can; the job itself is untouched"
    hint = f" (scancel {job.ref} would end it)" if job.backend == "slurm" else ""
    return f"no longer watched; the job itself is untouched{hint}"


def _wake(pid: int) -> None:
    with suppress(ProcessLookupError):  # it ended by itself just now
        os.kill(pid, signal.SIGUSR1)
