"""Bringing monitors back, and sending them away."""

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
from jobmon_core.system.lock import try_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.lifecycle.start import MonitorStarter

_STAY_STEP_S = 5.0


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """What was done about one job, in words."""

    subject: str
    action: str
    acted: bool = True  # False: there was nothing to do, and nothing was done


@dataclass(frozen=True, slots=True)
class RecoverJobs:
    """Finds monitors that are provably gone and starts them again."""

    ctx: Context
    starter: MonitorStarter

    def recover(self) -> Iterator[RecoveryResult]:
        """Restart what died, leave alone what lives; yield what was done, job by job.

        Raises:
            AlreadyWatched: another one is doing just that.
            StorageFailed: the disk refused, or the new monitor did not start.
        """
        with try_lock(self.ctx.home.monitors / "recover.lock") as mine:
            if not mine:
                raise AlreadyWatched("another `jobmon recover` is at work; this one did nothing")
            for path, what in self.ctx.home.clean_up():
                yield RecoveryResult(path.name, what)
            yield from self._recover()

    def _recover(self) -> Iterator[RecoveryResult]:
        try:
            config = self.ctx.configuration()
        except ConfigInvalid as error:
            config = Config()  # no channel is configured as far as one can tell: nothing is reopened
            faults = "; ".join(error.faults)
            yield RecoveryResult(error.source, f"not usable, and messages wait for it: {faults}", acted=False)
        orphans: dict[str, RecoveryResult] = {}
        for found in list_jobs(self.ctx):
            if isinstance(found, Unreadable):
                yield RecoveryResult(found.path.name, f"left alone: {found.why}", acted=False)
            elif away := self._away(found):
                yield RecoveryResult(name_of(found.job), away, acted=False)
            elif why := self._why_orphaned(found, config):
                if obstacle := self.ctx.blocking_file(found.job.id):
                    yield RecoveryResult(name_of(found.job), f"left alone: {obstacle}", acted=False)
                else:
                    orphans[found.job.id] = RecoveryResult(name_of(found.job), why)
            elif found.health is not Health.DONE:
                yield RecoveryResult(name_of(found.job), _left_alone(found), acted=False)
        if orphans:
            yield from self._adopt(orphans)

    def _away(self, found: JobStatus) -> str:
        """Return why a job is not for this machine to take up: it runs on a cluster that is not ours."""
        job = found.job
        if job.remote or not job.cluster or found.health not in (Health.DEAD, Health.STALE):
            return ""
        try:
            here = self.ctx.cluster_name(job.backend).get()
        except SchedulerMissing as error:
            return f"left alone: {error}"
        if here in ("", job.cluster):
            return ""
        return f"left alone: it runs on cluster {job.cluster}, and this machine talks to {here}"

    def _why_orphaned(self, found: JobStatus, config: Config) -> str:
        """Return why a job needs a monitor, as what is then done about it; empty where it needs none."""
        match found.health:
            case Health.DEAD:
                return "its monitor was gone; watched again"
            case Health.STALE:
                return f"its monitor on {_host(found)} gave no sign for long; watched again, from here"
            case Health.DONE if self._reopen(found.job, config):
                return "its message was given up; sent to the webhook that is configured now"
            case _:
                return ""

    def _reopen(self, job: WatchedJob, config: Config) -> bool:
        """Owe again what a dead channel refused, where another one is configured now."""
        outbox = tuple(reopen(entry, config, self.ctx.dead_channels) for entry in job.outbox)
        if job.unwatched_s is not None or outbox == job.outbox:
            return False
        self.ctx.store.save(replace(job, outbox=outbox))
        return True

    def _adopt(self, orphans: dict[str, RecoveryResult]) -> Iterator[RecoveryResult]:
        """Hand the orphans to as few new monitors as can hold them."""
        held: set[str] = set()
        job_ids = list(orphans)
        for first in range(0, len(job_ids), MAX_JOBS):
            with suppress(AlreadyWatched):
                held |= set(self.starter.start(job_ids[first : first + MAX_JOBS]))
        for job_id, finding in orphans.items():
            if job_id in held:
                yield finding
            else:
                taken = "left alone: another monitor took it up meanwhile"
                yield RecoveryResult(finding.subject, taken, acted=False)


def wait_for_monitors(ctx: Context) -> None:
    """Return when no monitor lives on this host any more: what started us would end them with us."""
    while any(isinstance(found, JobStatus) and found.health is Health.ALIVE for found in list_jobs(ctx)):
        ctx.clock.wait(_STAY_STEP_S)


def name_of(job: WatchedJob) -> str:
    """Return what a job is called in a line about it."""
    return f"{job.ref} {job.name}".rstrip()


def _host(found: JobStatus) -> str:
    return found.owner.host if found.owner else "another host"


def _left_alone(found: JobStatus) -> str:
    where = f"monitor {found.owner.pid} on {found.owner.host}" if found.owner else "its monitor"
    return f"left alone: {where} is {'alive' if found.health is Health.ALIVE else 'alive elsewhere'}"
