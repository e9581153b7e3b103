"""Use case: restart the monitors that are provably gone."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.config import Config
from jobmon_core.domain.errors import AlreadyWatched, ConfigInvalid, SchedulerMissing
from jobmon_core.lifecycle.adopt import MAX_JOBS
from jobmon_core.lifecycle.health import Health, JobStatus, list_jobs
from jobmon_core.monitor.outbox import reopen
from jobmon_core.store.jobs import Unreadable
from jobmon_core.store.owner import blocked_because
from jobmon_core.system.lock import command_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.lifecycle.start import MonitorStarter

_CHECK_INTERVAL_S = 5.0
_LOCK_TIMEOUT_S = 2.0  # cron starts it every ten minutes: the next run does what this one leaves


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """What was done for one job or file."""

    subject: str
    action: str
    acted: bool = True  # False: nothing was changed


@dataclass(frozen=True, slots=True)
class RecoverJobs:
    """Restarts the monitors of one user."""

    ctx: Context
    starter: MonitorStarter

    def recover(self) -> Iterator[RecoveryResult]:
        """Restart dead monitors, leave live ones alone; yield a result for each job.

        Raises:
            CommandBusy: another `jobmon recover` is running.
            StorageFailed: a file cannot be written, or the new monitor did not start.
        """
        with command_lock(self.ctx.home.monitors / "recover.lock", "jobmon recover", _LOCK_TIMEOUT_S):
            for path in self.ctx.home.clean_up():
                yield RecoveryResult(path.name, "removed: a file that a killed process did not finish")
            yield from self._recover()

    def _recover(self) -> Iterator[RecoveryResult]:
        try:
            config = self.ctx.configuration()
        except ConfigInvalid as error:
            config = Config()  # without a valid configuration no message is sent again
            faults = "; ".join(error.faults)
            yield RecoveryResult(error.source, f"invalid, so messages are not sent: {faults}", acted=False)
        orphans: dict[str, RecoveryResult] = {}
        for status in list_jobs(self.ctx):
            if isinstance(status, Unreadable):
                yield RecoveryResult(status.path.name, f"skipped: {status.why}", acted=False)
            elif reason := self._skipped_because(status):
                yield RecoveryResult(name_of(status.job), f"skipped: {reason}", acted=False)
            elif action := self._recovery_action(status, config):
                if reason := blocked_because(self.ctx.home.monitors, status.job.id):
                    yield RecoveryResult(name_of(status.job), f"skipped: {reason}", acted=False)
                else:
                    orphans[status.job.id] = RecoveryResult(name_of(status.job), action)
            elif status.health is not Health.DONE:
                yield RecoveryResult(name_of(status.job), _still_monitored(status), acted=False)
        if orphans:
            yield from self._adopt(orphans)

    def _skipped_because(self, status: JobStatus) -> str:
        """Return why this host cannot monitor a job: it runs on another cluster. Empty if it can."""
        job = status.job
        if job.remote or not job.cluster or status.health not in (Health.DEAD, Health.STALE):
            return ""
        try:
            cluster = self.ctx.cluster_name(job.backend).get()
        except SchedulerMissing as error:
            return str(error)
        if cluster in ("", job.cluster):
            return ""
        return f"it runs on cluster {job.cluster}, but this host uses cluster {cluster}"

    def _recovery_action(self, status: JobStatus, config: Config) -> str:
        """Return what a new monitor for this job means for the user; empty if it needs none."""
        match status.health:
            case Health.DEAD:
                return "its monitor was dead; restarted"
            case Health.STALE if status.owner:
                return (
                    f"its monitor on {status.owner.host} has been silent for too long; restarted on this host"
                )
            case Health.DONE if self._reopen(status.job, config):
                return "its message had been given up; sending it to the webhook configured now"
            case _:
                return ""

    def _reopen(self, job: WatchedJob, config: Config) -> bool:
        """Queue again what a dead channel refused, if another channel is configured now."""
        outbox = tuple(reopen(entry, config, self.ctx.dead_channels) for entry in job.outbox)
        if job.unwatched_s is not None or outbox == job.outbox:
            return False
        self.ctx.store.save(replace(job, outbox=outbox))
        return True

    def _adopt(self, orphans: dict[str, RecoveryResult]) -> Iterator[RecoveryResult]:
        """Start as few monitors as can hold the jobs without one."""
        adopted: set[str] = set()
        job_ids = list(orphans)
        for first in range(0, len(job_ids), MAX_JOBS):
            with suppress(AlreadyWatched):
                adopted |= set(self.starter.start(job_ids[first : first + MAX_JOBS]))
        for job_id, result in orphans.items():
            if job_id in adopted:
                yield result
            else:
                action = "skipped: another monitor adopted it in the meantime"
                yield RecoveryResult(result.subject, action, acted=False)


def wait_for_monitors(ctx: Context) -> None:
    """Return when no monitor is alive on this host; a Slurm job that exits earlier would kill them."""
    while any(isinstance(each, JobStatus) and each.health is Health.ALIVE for each in list_jobs(ctx)):
        ctx.clock.wait(_CHECK_INTERVAL_S)


def name_of(job: WatchedJob) -> str:
    """Return the job id and name for a line about the job."""
    return f"{job.ref} {job.name}".rstrip()


def _still_monitored(status: JobStatus) -> str:
    monitor = f"monitor {status.owner.pid} on {status.owner.host}" if status.owner else "its monitor"
    return f"skipped: {monitor} is alive"
