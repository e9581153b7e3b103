"""Taking on jobs that were submitted otherwise: waiting, running, or over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import BY_USER
from jobmon_core.app.submit import SubmitJob, state_id
from jobmon_core.domain.errors import AlreadyWatched, SchedulerUnavailable, UnknownJob
from jobmon_core.domain.slurm.rows import RawAnswer, Unreachable
from jobmon_core.domain.tracking.model import LogPaths, WatchedJob
from jobmon_core.lifecycle.health import Health, job_status
from jobmon_core.system.lock import command_lock
from jobmon_core.system.process import user_name

if TYPE_CHECKING:
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.slurm.rows import AccountingRow, Record
    from jobmon_core.scheduler.base import Scheduler

_LOCK_TIMEOUT_S = 120.0  # each of several commands started at once queries Slurm and starts a monitor


@dataclass(frozen=True, slots=True)
class WatchJob:
    """Attaches monitors to jobs that the scheduler knows already."""

    submit_job: SubmitJob

    def watch(self, ref: JobRef, backend: str | None, logs: LogPaths) -> None:
        """Attach a monitor to a job that waits, runs, or is over.

        Raises:
            AlreadyWatched: somebody watches it.
            UnknownJob: the scheduler does not know it.
            SchedulerUnavailable: the scheduler can't be asked now.
            CommandBusy: other `jobmon watch` commands do not end.
        """
        name = backend or self.submit_job.ctx.configuration().backend
        # without the lock two commands for the same job would both find it unwatched
        with command_lock(self.submit_job.ctx.home.monitors / "watch.lock", "jobmon watch", _LOCK_TIMEOUT_S):
            self._attach(ref, name, logs)

    def _attach(self, ref: JobRef, name: str, logs: LogPaths) -> None:
        self._refuse_second(ref, name)
        known = _look_up(self.submit_job.ctx.scheduler(name), ref)
        job = WatchedJob(
            id=state_id(name, ref),
            job_id=ref.job_id,
            registered_s=self.submit_job.ctx.clock.now(),
            not_before_s=known.submit_s or 0,
            backend=name,
            watched_part=ref.key,
            user=known.user or user_name(),
            name=known.name,
            partition=known.partition,
            logs=LogPaths(logs.stdout, logs.stderr, BY_USER) if logs.stdout or logs.stderr else LogPaths(),
        )
        self.submit_job.ctx.store.save(job)
        self.submit_job.start(job)

    def _refuse_second(self, ref: JobRef, backend: str) -> None:
        for job in self.submit_job.ctx.store.find(ref):
            if job.closed or job.backend != backend or job.remote or job.watched_part not in ("", ref.key):
                continue
            found = job_status(self.submit_job.ctx, job)
            if found.health is Health.DEAD:
                raise AlreadyWatched(f"the monitor of job {job.ref} is DEAD; `jobmon recover` restarts it")
            by = f" by monitor {found.owner.pid} on {found.owner.host}" if found.owner else ""
            raise AlreadyWatched(
                f"job {job.ref} is watched already{by}; `jobmon show {job.ref}` tells what is known"
            )


def _look_up(scheduler: Scheduler, ref: JobRef) -> Record | AccountingRow:
    """Find a job, in slurmctld's memory or in accounting."""
    record = scheduler.ask_record(ref.job_id)
    if isinstance(record, tuple):
        found = [each for each in record if _is_part(each, ref)]
        if found:
            return found[0]
    ledger = scheduler.ask_accounting([ref.job_id])
    if isinstance(ledger, RawAnswer):
        rows = [row for row in scheduler.read_accounting(ledger.text, ref.job_id) if _is_part(row, ref)]
        if rows:
            return rows[-1]
    silent = [answer.why for answer in (record, ledger) if isinstance(answer, Unreachable)]
    if silent:
        raise SchedulerUnavailable(f"job {ref} can't be looked up now: {'; '.join(silent)}; try again later")
    raise UnknownJob(
        f"job {ref} is not known: neither squeue nor sacct lists it; check the id with squeue --me"
    )


def _is_part(row: Record | AccountingRow, ref: JobRef) -> bool:
    if not ref.key or row.ref.key == ref.key:
        return True
    return ref.task is not None and row.pending_indices is not None and ref.task in row.pending_indices
