"""Watch a job not submitted through jobmon, whether pending, running or ended."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.app.runs.record import record_watched
from jobmon_core.domain.errors import (
    AlreadyReported,
    AlreadyWatched,
    JobmonError,
    SchedulerUnavailable,
    UnknownJob,
)
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.reopen import is_same_submission, reopened
from jobmon_core.domain.slurm.job_ids import includes
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.lifecycle.health import Health, job_status
from jobmon_core.store.jobs import state_id
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_settings import JobSettings
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.slurm.rows import JobRow
    from jobmon_core.lifecycle.start import MonitorStarter
    from jobmon_core.scheduler.base import Scheduler


def watch(
    ctx: Context,
    starter: MonitorStarter,
    ref: JobRef,
    backend: str,
    logs: LogPaths,
    *,
    settings: JobSettings | None = None,
    again: bool = False,
) -> WatchedJob:
    """Start a monitor for a job that the scheduler already knows; return the watched job.

    An array task given by its raw job id is watched as that task (``12_3``), a het component likewise. A job
    whose watching ended keeps its state file. ``logs`` are absolute paths, both empty if the scheduler is to
    name them; without ``settings``, what the user said before counts; ``again``: report a job once more.

    Raises:
        AlreadyWatched: it is being watched, or its monitor is dead.
        AlreadyReported: it ended and was reported, and ``again`` is False.
        UnknownJob: the scheduler does not know it.
        SchedulerUnavailable: the scheduler does not respond.
        CommandBusy: another `jobmon watch` has not finished within two minutes.
    """
    # without the lock two commands for the same job would both find it unwatched
    with ctx.watch_lock():
        _refuse_if_watched(ctx, ref, backend)
        job = _known_job(ctx, ref, backend)
        if job.closed:
            if job.concluded_s is not None and not again:
                raise AlreadyReported(_already_reported(job), job.id)
            job = reopened(job)
        if logs.stdout or logs.stderr:
            job = replace(job, logs=LogPaths(logs.stdout, logs.stderr, BY_USER))
        if settings:
            job = replace(job, settings=settings)
        ctx.store.save(job)
        starter.watch(job.id)
    # last: the scheduler may take long, and the user may press Ctrl-C
    with suppress(JobmonError):  # without the record, the job is watched all the same
        if not ctx.run_record(job.id).taken():
            record_watched(ctx, job)
    return job


def _known_job(ctx: Context, ref: JobRef, backend: str) -> WatchedJob:
    try:
        known = _look_up(ctx.scheduler(backend), ref)
    except (UnknownJob, SchedulerUnavailable):
        if job := _closed_job(ctx, ref, backend, None):
            return job
        raise
    # no query of the monitor finds a job by its raw job id
    if known.ref.job_id != ref.job_id:
        ref = known.ref
        _refuse_if_watched(ctx, ref, backend)
    return _closed_job(ctx, ref, backend, known.submit_s) or WatchedJob(
        id=state_id(backend, ref),
        job_id=ref.job_id,
        registered_s=ctx.clock.now(),
        not_before_s=known.submit_s or 0,
        submitted_s=known.submit_s,
        backend=backend,
        watched_part=ref.key,
        user=known.user or user_name(),
        name=known.name,
        partition=known.partition,
    )


def _closed_job(ctx: Context, ref: JobRef, backend: str, submit_s: int | None) -> WatchedJob | None:
    """Not if its id now belongs to a newer submission."""
    jobs = [job for job in _watched(ctx, ref, backend) if job.closed]
    return jobs[-1] if jobs and is_same_submission(jobs[-1], submit_s) else None


def _already_reported(job: WatchedJob) -> str:
    at = time.strftime("%Y-%m-%d %H:%M", time.localtime(job.concluded_s))
    return (
        f"job {job.ref} was already reported at {at}; "
        f"`jobmon watch --again {job.ref}` analyses and reports it again"
    )


def _watched(ctx: Context, ref: JobRef, backend: str) -> list[WatchedJob]:
    """Newest last."""
    # a remote job is on another cluster, where the same id is another job
    return [
        job
        for job in ctx.store.find(ref)
        if job.backend == backend and not job.remote and job.watched_part in ("", ref.key)
    ]


def _refuse_if_watched(ctx: Context, ref: JobRef, backend: str) -> None:
    for job in _watched(ctx, ref, backend):
        if job.closed:
            continue
        status = job_status(ctx, job)
        if status.health is Health.DEAD:
            raise AlreadyWatched(f"the monitor of job {job.ref} is dead; `jobmon recover` restarts it")
        monitor = f" by {status.owner}" if status.owner else ""
        raise AlreadyWatched(f"job {job.ref} is already watched{monitor}; see `jobmon show {job.ref}`")


def _look_up(scheduler: Scheduler, ref: JobRef) -> JobRow:
    """The first of several; else its last run in accounting."""
    record = scheduler.ask_record(ref.job_id)
    if isinstance(record, tuple):
        records = [each for each in record if _is_part(each, ref)]
        if records:
            return records[0]
    accounting = scheduler.ask_accounting([ref.job_id])
    if isinstance(accounting, str):
        rows = [row for row in scheduler.read_accounting(accounting, ref.job_id) if _is_part(row, ref)]
        if rows:
            return rows[-1]
    errors = [answer.why for answer in (record, accounting) if isinstance(answer, Unreachable)]
    if errors:  # usually with the same cause
        is_missing = errors[0].endswith("not found on PATH")
        hint = "run this on a host that has it" if is_missing else "try again later"
        raise SchedulerUnavailable(f"job {ref} cannot be looked up now: {errors[0]}; {hint}")
    raise UnknownJob(
        f"unknown job {ref}: neither the scheduler nor its accounting lists it; check the job id"
    )


def _is_part(row: JobRow, ref: JobRef) -> bool:
    return not ref.key or row.ref.key == ref.key or includes(row.pending_indices, ref.key)
