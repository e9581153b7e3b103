"""Restart monitors that died, or that were silent for too long on another host."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.find import find_job, name_of
from jobmon_core.domain.config import Config
from jobmon_core.domain.delivery.outbox import reopened
from jobmon_core.domain.errors import AlreadyWatched, ConfigInvalid, SchedulerMissing
from jobmon_core.domain.humanize import count
from jobmon_core.lifecycle.adopt import MAX_JOBS
from jobmon_core.lifecycle.health import Health, JobStatus, job_status, list_jobs
from jobmon_core.monitor.groups.keeper import GroupKeeper
from jobmon_core.monitor.outbox import reopen_all
from jobmon_core.store.jobs import Unreadable
from jobmon_core.store.owner import blocked_because
from jobmon_core.system.helper import Helper
from jobmon_core.system.lock import command_lock

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from contextlib import AbstractContextManager

    from jobmon_core.context import Context
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.lifecycle.start import MonitorStarter

_SENDING = "sending its undelivered message again"
_CHECK_INTERVAL_S = 5.0
_LOCK_TIMEOUT_S = 2.0  # short: the autostart runs `jobmon recover` every ten minutes anyway
_REPLAY_TIMEOUT_S = 10.0
_HOLDERS = ("jobmon recover", "jobmon replay", "jobmon wait", "jobmon init")  # of `recovery_lock`


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """What a command did with one job or file, or why it did nothing."""

    subject: str
    action: str  # what was changed, or why nothing was
    is_changed: bool = True
    watched_on: str = ""  # the host of the job's living monitor, if nothing was changed because of that
    is_job: bool = True  # False for a group, a message, the configuration or a temporary file


@dataclass(frozen=True, slots=True)
class RecoverJobs:
    """Restarts the dead and stale monitors of one user."""

    ctx: Context
    starter: MonitorStarter

    def recover(self) -> Iterator[RecoveryResult]:
        """Restart dead and stale monitors, and send the given-up messages that can be sent now.

        Yield a result for each job that is watched or has such a message, for each such message of no single
        job, for each removed temporary file, and for each file, group or configuration with a problem. This
        generator holds `recovery_lock` until it is exhausted or closed; it may raise CommandBusy.
        """
        with recovery_lock(self.ctx, _LOCK_TIMEOUT_S):
            for path in self.ctx.home.clean_up():
                action = "removed: a killed process left this unfinished file"
                yield RecoveryResult(path.name, action, is_job=False)
            yield from self._poll_groups()
            yield from self._recover(tuple(Health))

    def send_given_up(self) -> Iterator[RecoveryResult]:
        """Send only the given-up messages that can be sent now; otherwise as `recover`."""
        with recovery_lock(self.ctx, _LOCK_TIMEOUT_S):
            yield from self._recover((Health.DONE,))

    def _poll_groups(self) -> Iterator[RecoveryResult]:
        """A monitor may be gone."""
        problems: list[str] = []
        GroupKeeper(self.ctx, Helper(), problems.append).run_due(None)
        for problem in problems:
            subject, _, text = problem.partition(": ")
            yield RecoveryResult(subject, f"skipped: {text}", is_changed=False, is_job=False)

    def _recover(self, healths: Collection[Health]) -> Iterator[RecoveryResult]:
        try:
            config = self.ctx.configuration()
        except ConfigInvalid as error:
            config = Config()  # without a valid configuration no message is sent again
            faults = "; ".join(error.faults)
            action = f"invalid, so messages are not sent: {faults} (in {error.source})"
            yield RecoveryResult("configuration", action, is_changed=False, is_job=False)
        yield from self._recover_messages(config)
        orphans: dict[str, RecoveryResult] = {}
        for status in list_jobs(self.ctx):
            if isinstance(status, Unreadable):
                yield RecoveryResult(status.path.name, f"skipped: {status.why}", is_changed=False)
                continue
            if status.health not in healths:
                continue
            job, name = self._with_reopened_outbox(status, config), name_of(status.job)
            action = _recovery_action(status, is_reopened=job != status.job)
            if not action:
                if status.health is not Health.DONE:
                    host = status.owner.host if status.owner else "an unknown host"
                    yield RecoveryResult(name, f"skipped: its monitor on {host} is alive", False, host)
            elif reason := self._skipped_because(status) or blocked_because(self.ctx.home, job.id):
                yield RecoveryResult(name, f"skipped: {reason}", is_changed=False)
            else:
                if job != status.job:
                    self.ctx.store.save(job)
                orphans[job.id] = RecoveryResult(name, action)
        if orphans:
            yield from self._adopt(orphans)

    def _recover_messages(self, config: Config) -> Iterator[RecoveryResult]:
        from jobmon_core.app.messages.send import send_in_background
        from jobmon_core.app.messages.undelivered import reopen_messages

        reopened, is_any_open = reopen_messages(self.ctx, config)
        if is_any_open:
            send_in_background(self.ctx)
        for title in reopened:
            yield RecoveryResult(f"message {title!r}", "sending it again", is_job=False)

    def _skipped_because(self, status: JobStatus) -> str:
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

    def _with_reopened_outbox(self, status: JobStatus, config: Config) -> WatchedJob:
        job = status.job
        if status.health is not Health.DONE or job.unwatched_s is not None:
            return job
        return replace(job, outbox=reopen_all(job.outbox, config, self.ctx.channel_files))

    def _adopt(self, orphans: dict[str, RecoveryResult]) -> Iterator[RecoveryResult]:
        adopted: set[str] = set()
        job_ids = list(orphans)
        for first in range(0, len(job_ids), MAX_JOBS):
            with suppress(AlreadyWatched):
                adopted |= set(self.starter.start(job_ids[first : first + MAX_JOBS]))
        for job_id, result in orphans.items():
            owner = self.ctx.owner_record(job_id).read()
            if job_id in adopted:
                yield result
            elif owner and owner[0].health() is Health.ALIVE and result.action == _SENDING:
                owner[0].wake()  # it still looks whether Slurm runs the job again
                yield result
            else:
                action = "skipped: another monitor adopted it in the meantime"
                yield RecoveryResult(result.subject, action, is_changed=False)


def recovery_lock(ctx: Context, timeout_s: float) -> AbstractContextManager[None]:
    """Serialise what restarts monitors or sends given-up messages again; may raise CommandBusy."""
    return command_lock(ctx.home.monitors / "recover.lock", _HOLDERS[0], timeout_s, *_HOLDERS[1:])


def wait_for_monitors(ctx: Context) -> None:
    """Wait until none is alive on this host: the end of a Slurm job would kill them."""
    while any(isinstance(each, JobStatus) and each.health is Health.ALIVE for each in list_jobs(ctx)):
        ctx.clock.wait(_CHECK_INTERVAL_S)


def _recovery_action(status: JobStatus, *, is_reopened: bool) -> str:
    """Empty if it needs no monitor."""
    match status.health:
        case Health.DEAD:
            return "its monitor was dead; restarted"
        case Health.STALE if status.owner:
            return f"its monitor on {status.owner.host} has been silent for too long; restarted on this host"
        case Health.DONE if is_reopened:
            return _SENDING
        case _:
            return ""


def replay(ctx: Context, starter: MonitorStarter, argument: str) -> RecoveryResult:
    """Send again the given-up messages of the job that ``argument`` names, also to channels considered dead.

    The job's monitor sends them; if it has none, a new one is started. Nothing is changed if no message was
    given up, or if jobmon stopped watching the job. Raise CommandBusy if another command holds the lock.
    """
    found, _ = find_job(ctx, argument)
    with recovery_lock(ctx, _REPLAY_TIMEOUT_S):
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
