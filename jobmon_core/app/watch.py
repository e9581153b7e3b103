"""Use case: watch a job not submitted through jobmon, whether pending, running or ended."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import BY_USER
from jobmon_core.app.submit import state_id
from jobmon_core.domain.errors import AlreadyWatched, SchedulerUnavailable, UnknownJob
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.rows import RawAnswer, Unreachable
from jobmon_core.domain.tracking.model import WatchedJob, includes
from jobmon_core.lifecycle.health import Health, job_status
from jobmon_core.system.lock import command_lock
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.slurm.rows import AccountingRow, Record
    from jobmon_core.lifecycle.start import MonitorStarter
    from jobmon_core.scheduler.base import Scheduler

_LOCK_TIMEOUT_S = 120.0  # each of several commands started at once queries the scheduler, then forks


def watch(ctx: Context, starter: MonitorStarter, ref: JobRef, backend: str, logs: LogPaths) -> None:
    """Start a monitor for a job that the scheduler already knows.

    An array task given by its raw job id is watched as that task (``12_3``), a het component likewise.
    ``logs`` are the absolute paths that the user gave, both empty if the scheduler is to name them.

    Raises:
        AlreadyWatched: it is being watched, or its monitor is dead.
        UnknownJob: the scheduler does not know it.
        SchedulerUnavailable: the scheduler is not responding.
        CommandBusy: another `jobmon watch` has not finished within two minutes.
        StorageFailed: a file cannot be written, or the monitor did not start.
    """
    # without the lock two commands for the same job would both find it unwatched
    with command_lock(ctx.home.monitors / "watch.lock", "jobmon watch", _LOCK_TIMEOUT_S):
        _refuse_if_watched(ctx, ref, backend)
        known = _look_up(ctx.scheduler(backend), ref)
        # no query of the monitor finds a job by its raw job id
        if known.ref.job_id != ref.job_id:
            ref = known.ref
            _refuse_if_watched(ctx, ref, backend)
        job = WatchedJob(
            id=state_id(backend, ref),
            job_id=ref.job_id,
            registered_s=ctx.clock.now(),
            not_before_s=known.submit_s or 0,
            backend=backend,
            watched_part=ref.key,
            user=known.user or user_name(),
            name=known.name,
            partition=known.partition,
            logs=LogPaths(logs.stdout, logs.stderr, BY_USER) if logs.stdout or logs.stderr else LogPaths(),
        )
        ctx.store.save(job)
        with suppress(AlreadyWatched):  # a `jobmon recover` that ran meanwhile has started a monitor
            starter.start([job.id])


def _refuse_if_watched(ctx: Context, ref: JobRef, backend: str) -> None:
    for job in ctx.store.find(ref):
        # a remote job is on another cluster, where the same id is another job
        if job.closed or job.backend != backend or job.remote or job.watched_part not in ("", ref.key):
            continue
        status = job_status(ctx, job)
        if status.health is Health.DEAD:
            raise AlreadyWatched(f"the monitor of job {job.ref} is dead; `jobmon recover` restarts it")
        monitor = f" by {status.owner}" if status.owner else ""
        raise AlreadyWatched(f"job {job.ref} is already watched{monitor}; see `jobmon show {job.ref}`")


def _look_up(scheduler: Scheduler, ref: JobRef) -> Record | AccountingRow:
    """Return what the scheduler remembers of a job (the first of several records), else its last run."""
    record = scheduler.ask_record(ref.job_id)
    if isinstance(record, tuple):
        records = [each for each in record if _is_part(each, ref)]
        if records:
            return records[0]
    accounting = scheduler.ask_accounting([ref.job_id])
    if isinstance(accounting, RawAnswer):
        rows = [row for row in scheduler.read_accounting(accounting.text, ref.job_id) if _is_part(row, ref)]
        if rows:
            return rows[-1]
    errors = [answer.why for answer in (record, accounting) if isinstance(answer, Unreachable)]
    if errors:
        raise SchedulerUnavailable(f"job {ref} cannot be looked up now: {'; '.join(errors)}; try again later")
    raise UnknownJob(
        f"unknown job {ref}: neither the scheduler nor its accounting lists it; check the job id"
    )


def _is_part(row: Record | AccountingRow, ref: JobRef) -> bool:
    """Return whether a row of a job is about the task or component that ``ref`` names, if it names one."""
    return not ref.key or row.ref.key == ref.key or includes(row.pending_indices, ref.key)
