"""Use case: stop watching a job. The job itself is not touched."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.find import name_of
from jobmon_core.app.recover import RecoveryResult
from jobmon_core.app.restarts.lineages import end
from jobmon_core.domain.errors import UnknownJob
from jobmon_core.lifecycle.health import Health, find_watched, job_status
from jobmon_core.monitor.task_agent import AgentProcesses
from jobmon_core.scheduler.backends import cancel_command

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef

_STOP_TIMEOUT_S = 5.0  # for a monitor on this host to stop watching
_CHECK_INTERVAL_S = 0.05


def cancel(ctx: Context, ref: JobRef) -> RecoveryResult:
    """Stop watching a job, if it is watched; the job itself is not touched.

    If it is an attempt of a lineage, no further one follows.

    Raises:
        UnknownJob: it was never watched, or only as part of a larger job.
    """
    found = find_watched(ctx, ref)
    if not found:
        raise UnknownJob(f"job {ref} is not watched; `jobmon status` lists the watched jobs")
    jobs = [job for job in found if job_status(ctx, job).health is not Health.DONE]
    if not jobs:
        return RecoveryResult(name_of(found[-1]), _unchanged_because(found[-1]), is_changed=False)
    watched = next((job for job in jobs if job.watched_part == ref.key), None)
    if watched is None:
        raise UnknownJob(
            f"job {ref} is watched as part of job {jobs[-1].ref}; use `jobmon cancel {jobs[-1].ref}`"
        )
    if place := watched.attempt:
        end(ctx, place.lineage, "ended by `jobmon cancel`")
    return RecoveryResult(name_of(watched), _stop_watching(ctx, watched))


def _stop_agents(ctx: Context, job: WatchedJob) -> None:
    for key in job.tasks:
        record = ctx.telemetry(job.id, key).record.read()
        for process in record.processes:
            AgentProcesses().send(process, record.stop_signal)


def _unchanged_because(job: WatchedJob) -> str:
    if job.unwatched_s is not None:
        return "its monitoring was stopped before; nothing was changed"
    return f"it has ended; nothing was changed (`jobmon forget {job.ref}` removes its record)"


def _stop_watching(ctx: Context, job: WatchedJob) -> str:
    ctx.cancel_request(job.id).create()
    status = job_status(ctx, job)
    if status.health is Health.ALIVE and status.owner:
        status.owner.wake()
        deadline_s = ctx.clock.now() + _STOP_TIMEOUT_S
        while (status := job_status(ctx, job)).health is Health.ALIVE and ctx.clock.now() < deadline_s:
            ctx.clock.wait(_CHECK_INTERVAL_S)
    if status.health is Health.DEAD:
        ctx.store.save(replace(ctx.store.load(job.id), unwatched_s=ctx.clock.now()))
        _stop_agents(ctx, job)
        ctx.cancel_request(job.id).clear()
    if status.owner and status.health not in (Health.DEAD, Health.DONE):
        monitor = f"monitor {status.owner.pid} on {status.owner.host}"
        return f"{monitor} will stop watching as soon as it reads the request; the job itself is not touched"
    command = cancel_command(job) or " && ".join(ctx.manual_commands(job).stop)
    hint = f" (`{command}` ends it)" if command else ""
    return f"no longer watched; the job itself is not touched{hint}"
