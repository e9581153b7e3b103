"""Builds job monitors from the real adapters: the only module that knows all of them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from jobmon_core import __version__
from jobmon_core.domain.errors import ConfigInvalid, StateUnreadable, StorageFailed
from jobmon_core.domain.tracking.policy import Policy
from jobmon_core.monitor.heartbeat import Heartbeat
from jobmon_core.monitor.job_monitor import JobMonitor, MonitorDeps
from jobmon_core.monitor.outage_notifier import OutageNotifier
from jobmon_core.monitor.settings import SettingsReader
from jobmon_core.polling.accounting import SharedAccounting
from jobmon_core.polling.queue import SharedQueue
from jobmon_core.store.shared_answers import OutageNoticeFile, SharedAnswer
from jobmon_core.system.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmon_core.context import Context
    from jobmon_core.domain.channels import ConfiguredChannel
    from jobmon_core.domain.delivery.outbox import OutboxEntry, Receipt
    from jobmon_core.domain.diagnosis.model import Diagnosis
    from jobmon_core.domain.heartbeat import HeartbeatUrl
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.scheduler.base import Scheduler

    Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SchedulerSession:
    """What all jobs of one user on one cluster share within this process."""

    scheduler: Scheduler
    queue: SharedQueue
    accounting: SharedAccounting


@dataclass(slots=True)
class MonitorFactory:
    """Builds the job monitors of one process, and keeps what they share."""

    ctx: Context
    _worker: Worker = field(init=False)
    _settings: SettingsReader = field(init=False)
    _sessions: dict[tuple[str, str, str], SchedulerSession] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Build what does not depend on a job."""
        self._worker = Worker(self.ctx.locks)
        self._settings = SettingsReader(self.ctx.home.config, self.ctx.configuration, self._worker)

    def job_monitor(self, job_id: str, log: Log) -> JobMonitor:
        """Return a monitor for the job with this state id; ``log`` writes a line to the job's log.

        Raises:
            StateUnreadable: the state file cannot be read.
        """
        ctx = self.ctx
        job = ctx.store.load(job_id)
        local_cluster = ctx.cluster_name(job.backend)
        # login nodes of several clusters may share a home: other clusters are addressed by name
        cluster = job.cluster if job.is_elsewhere(local_cluster.get) else ""
        session = self._session(job.backend, cluster, job.user)
        session.queue.follow(job.job_id)
        policy = self._policy(log)
        deps = MonitorDeps(
            scheduler=session.scheduler,
            queue=session.queue,
            accounting=session.accounting,
            outages=self._outage_notifier(policy),
            store=ctx.store,
            clock=ctx.clock,
            policy=policy,
            cluster_name=local_cluster.get,
            diagnose=partial(self._diagnose, log),
            deliver=partial(self._deliver, job.id),
            is_cancelled=ctx.cancel_request(job.id).is_pending,
            log=log,
        )
        return JobMonitor(job, deps)

    def heartbeat(self, log: Log) -> Heartbeat:
        """Return the caller of the user's heartbeat URL; it does nothing unless one is configured."""
        stamp = self.ctx.home.monitors / "heartbeat.stamp"
        return Heartbeat(self._settings.settings, _call_heartbeat, self._worker, self.ctx.clock, stamp, log)

    def _session(self, backend: str, cluster: str, user: str) -> SchedulerSession:
        """Return the session shared by all jobs of a user on a cluster, so that an answer is parsed once."""
        key = backend, cluster, user
        if key not in self._sessions:
            self._sessions[key] = self._new_session(*key)
        return self._sessions[key]

    def _new_session(self, backend: str, cluster: str, user: str) -> SchedulerSession:
        ctx = self.ctx
        scheduler = ctx.scheduler(backend, cluster)
        names = (*ctx.scheduler_fingerprint(backend), cluster, user)
        queue_file, accounting_file = (
            SharedAnswer.named(ctx.home.shared_answers, kind, *names) for kind in ("queue", "accounting")
        )
        queue = SharedQueue(scheduler, queue_file, ctx.clock)
        accounting = SharedAccounting(
            scheduler,
            accounting_file,
            ctx.clock,
            recently_ended=lambda: queue.recently_ended(ctx.store.job_ids()),
        )
        return SchedulerSession(scheduler, queue, accounting)

    def _diagnose(self, log: Log, job: WatchedJob, keys: tuple[str, ...]) -> Mapping[str, Diagnosis]:
        from jobmon_core.analysis.explainer import diagnoses_of  # needed only after a job failed

        return diagnoses_of(job, keys, self.ctx.home.patterns, self._worker, log)

    def _deliver(
        self, job_id: str, entry: OutboxEntry, save: Callable[[OutboxEntry], None]
    ) -> tuple[OutboxEntry, ...]:
        """Deliver one message, after checking that this process still owns the job.

        Raises:
            AlreadyWatched: another process became the owner while this one was silent.
            StorageFailed: the owner record is missing, so another process may have been the owner meanwhile.
        """
        from jobmon_core.monitor.outbox import Outbox  # needed only for sending

        ctx = self.ctx
        if not ctx.owner_record(job_id).heartbeat():
            raise StorageFailed("the owner record is missing; messages wait until it is restored")
        outbox = Outbox(ctx.configuration, partial(send, ctx), self._worker, ctx.clock, ctx.dead_channels)
        return outbox.deliver(entry, save)

    def _outage_notifier(self, policy: Policy) -> OutageNotifier:
        ctx = self.ctx

        def notice_file(job: WatchedJob) -> OutageNoticeFile:
            cluster = job.cluster or ctx.cluster_name(job.backend).last_known()
            return OutageNoticeFile.named(ctx.home.shared_answers, job.backend, cluster)

        def is_reporting(job_id: str) -> bool:
            from jobmon_core.lifecycle.health import Health, job_status  # needed only in an outage

            try:
                reporter = job_status(ctx, ctx.store.load(job_id))
            except StateUnreadable:
                return False
            return reporter.job.outage_s is not None and reporter.health in (Health.ALIVE, Health.REMOTE)

        return OutageNotifier(notice_file, ctx.clock, policy, os.uname().nodename, is_reporting)

    def _policy(self, log: Log) -> Policy:
        """Return the configured policy; the default one if the configuration is invalid."""
        try:
            return self._settings.settings().policy
        except ConfigInvalid as error:
            log(f"using the default settings: {error}")
            return Policy()


def send(ctx: Context, channel: ConfiguredChannel, entry: OutboxEntry) -> Receipt:
    """Make one attempt to deliver; runs in a child process, because the HTTP library is heavy."""
    from jobmon_core.notify.base import deliver
    from jobmon_core.notify.channels import open_channel
    from jobmon_core.notify.http import post

    return deliver(open_channel(ctx.channel_types(), channel, post, __version__), entry).receipt


def _call_heartbeat(url: HeartbeatUrl) -> str:
    """Call the URL, like `send` in a child process; return why that failed, empty on success."""
    from jobmon_core.notify.heartbeat import call
    from jobmon_core.notify.http import post

    return call(url, post, __version__)
