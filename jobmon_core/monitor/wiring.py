"""Joins the real adapters into what follows a job: the only place that knows all of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache, partial
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
from jobmon_core.store.outage_notice import OutageNoticeFile
from jobmon_core.store.shared_answers import SharedAnswer
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


@dataclass(frozen=True, slots=True)
class SchedulerSession:
    """What all jobs of one user on one cluster share within this process."""

    scheduler: Scheduler
    queue: SharedQueue
    accounting: SharedAccounting


def job_monitor(ctx: Context, job_id: str, log: Callable[[str], None]) -> JobMonitor:
    """Return what follows one job, by its state file.

    Raises:
        StateUnreadable: the state can't be read.
    """
    job = ctx.store.load(job_id)
    return JobMonitor(job, _deps(ctx, job, log))


def _deps(ctx: Context, job: WatchedJob, log: Callable[[str], None]) -> MonitorDeps:
    here = ctx.cluster_name(job.backend)
    # a home may be shared by login nodes of several clusters: what is not here is asked for by its name
    cluster = job.cluster if job.is_elsewhere(here.get) else ""
    session = _session(ctx, job.backend, cluster, job.user)
    session.queue.follow(job.job_id)
    policy = _policy(ctx, log)
    return MonitorDeps(
        scheduler=session.scheduler,
        queue=session.queue,
        accounting=session.accounting,
        outages=_outages(ctx, policy),
        store=ctx.store,
        clock=ctx.clock,
        policy=policy,
        cluster_name=here.get,
        diagnose=partial(_explain, ctx, log),
        deliver=partial(_deliver, ctx, job.id),
        cancel_requested=ctx.is_cancel_requested,
        log=log,
    )


@cache
def _session(ctx: Context, backend: str, cluster: str, user: str) -> SchedulerSession:
    """Return one desk for all: what a scheduler answers about a thousand jobs is read once."""
    scheduler = ctx.scheduler(backend, cluster)
    names = (*ctx.scheduler_fingerprint(backend), cluster, user)
    queue = SharedQueue(scheduler, SharedAnswer.named(ctx.home.shared_answers, "queue", *names), ctx.clock)
    accounting = SharedAccounting(
        scheduler,
        SharedAnswer.named(ctx.home.shared_answers, "accounting", *names),
        ctx.clock,
        others=lambda: queue.ended_lately(ctx.store.job_ids()),
    )
    return SchedulerSession(scheduler, queue, accounting)


def _explain(
    ctx: Context, log: Callable[[str], None], job: WatchedJob, keys: tuple[str, ...]
) -> Mapping[str, Diagnosis]:
    from jobmon_core.analysis.explainer import Explainer  # needed when a job failed

    return Explainer(Worker(ctx.locks), ctx.home.patterns, log).explain(job, keys)


def _deliver(
    ctx: Context, job_id: str, entry: OutboxEntry, note: Callable[[OutboxEntry], None]
) -> tuple[OutboxEntry, ...]:
    """Deliver one message of a job that is still ours.

    Raises:
        AlreadyWatched: this process was silent for long, and another took over.
        StorageFailed: nobody is named as the owner: another may have come and gone.
    """
    from jobmon_core.monitor.outbox import Outbox  # needed when there is something to tell

    if not ctx.owner_record(job_id).heartbeat():
        raise StorageFailed(
            "nobody is named as the owner of this job any more; nothing is sent before that is clear"
        )
    outbox = Outbox(ctx.configuration, partial(send, ctx), Worker(ctx.locks), ctx.clock, ctx.dead_channels)
    return outbox.deliver(entry, note)


def _outages(ctx: Context, policy: Policy) -> OutageNotifier:
    def file_of(job: WatchedJob) -> OutageNoticeFile:
        cluster = job.cluster or ctx.cluster_name(job.backend).last_known()
        return OutageNoticeFile.named(ctx.home.shared_answers, job.backend, cluster)

    def is_telling(job_id: str) -> bool:
        from jobmon_core.lifecycle.health import Health, job_status  # needed in an outage only

        try:
            reporter = job_status(ctx, ctx.store.load(job_id))
        except StateUnreadable:
            return False
        return reporter.job.outage_s is not None and reporter.health in (Health.ALIVE, Health.REMOTE)

    return OutageNotifier(file_of, ctx.clock, policy, os.uname().nodename, is_telling)


@cache
def _settings(ctx: Context) -> SettingsReader:
    return SettingsReader(ctx.home.config, ctx.configuration, Worker(ctx.locks))


def _policy(ctx: Context, log: Callable[[str], None]) -> Policy:
    """Return the configured patience; a faulty configuration must not keep a job from being watched."""
    try:
        return _settings(ctx).settings().policy
    except ConfigInvalid as error:
        log(f"the defaults are used: {error}")
        return Policy()


def send(ctx: Context, channel: ConfiguredChannel, entry: OutboxEntry) -> Receipt:
    """Make one attempt to deliver; runs in a child process, because the HTTP library is heavy."""
    from jobmon_core.notify.base import deliver
    from jobmon_core.notify.channels import open_channel
    from jobmon_core.notify.http import post

    return deliver(open_channel(ctx.channel_types(), channel, post, __version__), entry).receipt


def heartbeat(ctx: Context, log: Callable[[str], None]) -> Heartbeat:
    """Return what calls the user's dead-man's switch, if one is configured."""
    stamp = ctx.home.monitors / "heartbeat.stamp"
    return Heartbeat(_settings(ctx).settings, _call, Worker(ctx.locks), ctx.clock, stamp, log)


def _call(address: HeartbeatUrl) -> str:
    """Call the address; run in a child, as `send` is."""
    from jobmon_core.notify.heartbeat import call
    from jobmon_core.notify.http import post

    return call(address, post, __version__)
