"""Send again those messages of a job that were given up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.recover import RecoveryResult, name_of, recovery_lock
from jobmon_core.domain.delivery.outbox import reopened
from jobmon_core.domain.humanize import count
from jobmon_core.lifecycle.health import Health, job_status

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.lifecycle.start import MonitorStarter

_LOCK_TIMEOUT_S = 10.0


def replay(ctx: Context, starter: MonitorStarter, argument: str) -> RecoveryResult:
    """Send again the given-up messages of the job that ``argument`` names, also to channels considered dead.

    The job's monitor sends them; if it has none, a new one is started. Nothing is changed if no message was
    given up, or if jobmon stopped watching the job.

    Raises:
        CommandBusy: another command holds `recovery_lock`, e.g. `jobmon recover`.
        StorageFailed: a file cannot be written, or no monitor could be started.
    """
    found, _ = find_job(ctx, argument)
    with recovery_lock(ctx, _LOCK_TIMEOUT_S):
        job = ctx.store.load(found.id)
        given_up = [entry for entry in job.outbox if entry.given_up]
        if not given_up or job.unwatched_s is not None:
            why = "none of its messages was given up"
            if given_up:
                why = "jobmon stopped watching it"
            return RecoveryResult(name_of(job), f"{why}; nothing was changed", is_changed=False)
        for entry in given_up:
            ctx.channel_files.unmark_dead(entry.fingerprint)
        return _send(ctx, starter, job, given_up)


def _send(
    ctx: Context, starter: MonitorStarter, job: WatchedJob, given_up: list[OutboxEntry]
) -> RecoveryResult:
    status = job_status(ctx, job)
    messages = count(len(given_up), "message")
    if status.health in (Health.ALIVE, Health.REMOTE):
        ctx.replay_request(job.id).create()
        if status.health is Health.ALIVE and status.owner:
            status.owner.wake()  # if it has just ended, `jobmon replay` again starts another one
        return RecoveryResult(name_of(job), f"its monitor sends {messages} again")
    ctx.store.save(replace(job, outbox=tuple(reopened(entry) for entry in job.outbox)))
    starter.watch(job.id)
    return RecoveryResult(name_of(job), f"sending {messages} again")
