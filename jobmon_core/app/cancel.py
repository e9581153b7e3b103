"""Stop watching a job; the job itself is not touched."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import UnknownJob
from jobmon_core.lifecycle.health import Health, find_watched, job_status
from jobmon_core.scheduler.backends import cancel_command

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.model import WatchedJob

from jobmon_core.app.recover import RecoveryResult, name_of

_PATIENCE_S = 5.0  # how long a monitor may take to heed a request
_STEP_S = 0.05


def cancel(ctx: Context, ref: JobRef) -> RecoveryResult:
    """Stop watching a job; the job itself is not touched.

    Raises:
        UnknownJob: it is not watched, or only as a part of something larger.
        StateUnreadable: its state file can't be read.
        StorageFailed: the disk refused.
    """
    found = [job for job in find_watched(ctx, ref) if job_status(ctx, job).health is not Health.DONE]
    if not found:
        raise UnknownJob(f"job {ref} is not watched; `jobmon status` lists what is")
    whole = next((job for job in found if job.watched_part == ref.key), None)
    if whole is None:
        raise UnknownJob(
            f"job {ref} is watched as part of {found[-1].ref}; `jobmon cancel {found[-1].ref}` stops that"
        )
    return RecoveryResult(name_of(whole), _drop(ctx, whole))


def _drop(ctx: Context, job: WatchedJob) -> str:
    """Leave a request, wake the monitor, and wait for it to go; do its part where it is gone."""
    ctx.request_cancel(job.id)
    now = job_status(ctx, job)
    if now.health is Health.ALIVE and now.owner:
        _wake(now.owner.pid)
        deadline_s = ctx.clock.now() + _PATIENCE_S
        while (now := job_status(ctx, job)).health is Health.ALIVE and ctx.clock.now() < deadline_s:
            ctx.clock.wait(_STEP_S)
    if now.health is Health.DEAD:
        ctx.store.save(replace(ctx.store.load(job.id), unwatched_s=ctx.clock.now()))
        ctx.clear_cancel_request(job.id)
    if now.owner and now.health not in (Health.DEAD, Health.DONE):
        where = f"monitor {now.owner.pid} on {now.owner.host}"
        return f"{where} was asked to stop, and will as soon as it can; the job itself is untouched"
    command = cancel_command(job.backend, str(job.ref))
    hint = f" ({command} would end it)" if command else ""
    return f"no longer watched; the job itself is untouched{hint}"


def _wake(pid: int) -> None:
    with suppress(ProcessLookupError):  # it ended by itself just now
        os.kill(pid, signal.SIGUSR1)
