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
from jobmon_core.monitor.job_monitor import Supervisor, Tools
from jobmon_core.monitor.outage_notifier import Outages
from jobmon_core.monitor.settings import SettingsReader
from jobmon_core.polling.accounting import SharedAccounting
from jobmon_core.polling.queue import SharedQueue
from jobmon_core.store.outage_notice import NoticeFile
from jobmon_core.store.shared_answers import ReplyFile
from jobmon_core.system.worker import Children

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmon_core.context import Workshop
    from jobmon_core.domain.config import Config
    from jobmon_core.domain.delivery.outbox import Owed, Receipt
    from jobmon_core.domain.diagnosis.model import Diagnosis
    from jobmon_core.domain.heartbeat import HeartbeatUrl
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.scheduler.base import Scheduler


@dataclass(frozen=True, slots=True)
class Desk:
    """What all jobs of one user on one cluster share within this process."""

    scheduler: Scheduler
    queue: SharedQueue
    accounting: SharedAccounting


def supervisor(shop: Workshop, job_id: str, log: Callable[[str], None]) -> Supervisor:
    """Return what follows one job, by its state file.

    Raises:
        StateUnreadable: the state can't be read.
    """
    job = shop.store.load(job_id)
    return Supervisor(job, _tools(shop, job, log))


def _tools(shop: Workshop, job: WatchedJob, log: Callable[[str], None]) -> Tools:
    here = shop.cluster_name(job.backend)
    # a home may be shared by login nodes of several clusters: what is not here is asked for by its name
    cluster = job.cluster if job.is_elsewhere(here.get) else ""
    desk = _desk(shop, job.backend, cluster, job.user)
    desk.queue.follow(job.job_id)
    policy = _policy(shop, log)
    return Tools(
        scheduler=desk.scheduler,
        queue=desk.queue,
        accounting=desk.accounting,
        outages=_outages(shop, policy),
        store=shop.store,
        clock=shop.clock,
        policy=policy,
        cluster_name=here.get,
        explain=partial(_explain, shop, log),
        deliver=partial(_deliver, shop, job.id),
        dropped=shop.is_dropped,
        log=log,
    )


@cache
def _desk(shop: Workshop, backend: str, cluster: str, user: str) -> Desk:
    """Return one desk for all: what a scheduler answers about a thousand jobs is read once."""
    scheduler = shop.scheduler(backend, cluster)
    names = (*shop.slurm_here(backend), cluster, user)
    queue = SharedQueue(scheduler, ReplyFile.named(shop.home.replies, "queue", *names), shop.clock)
    accounting = SharedAccounting(
        scheduler,
        ReplyFile.named(shop.home.replies, "accounting", *names),
        shop.clock,
        others=lambda: queue.ended_lately(shop.store.job_ids()),
    )
    return Desk(scheduler, queue, accounting)


def _explain(
    shop: Workshop, log: Callable[[str], None], job: WatchedJob, keys: tuple[str, ...]
) -> Mapping[str, Diagnosis]:
    from jobmon_core.analysis.explainer import Explainer  # needed when a job failed

    return Explainer(Children(shop.locks), shop.home.patterns, log).explain(job, keys)


def _deliver(shop: Workshop, job_id: str, owed: Owed, note: Callable[[Owed], None]) -> Owed:
    """Deliver one message of a job that is still ours.

    Raises:
        AlreadyWatched: this process was silent for long, and another took over.
        StorageFailed: nobody is named as the owner: another may have come and gone.
    """
    from jobmon_core.monitor.outbox import Outbox  # needed when there is something to tell

    if not shop.owner_record(job_id).beat():
        raise StorageFailed(
            "nobody is named as the owner of this job any more; nothing is sent before that is clear"
        )
    outbox = Outbox(shop.configuration, send, Children(shop.locks), shop.clock, shop.dead_channels)
    return outbox.deliver(owed, note)


def _outages(shop: Workshop, policy: Policy) -> Outages:
    def file_of(job: WatchedJob) -> NoticeFile:
        cluster = job.cluster or shop.cluster_name(job.backend).last_known()
        return NoticeFile.named(shop.home.replies, job.backend, cluster)

    def is_telling(job_id: str) -> bool:
        from jobmon_core.lifecycle.health import Health, snapshot  # needed in an outage only

        try:
            teller = snapshot(shop, shop.store.load(job_id))
        except StateUnreadable:
            return False
        return teller.job.outage_s is not None and teller.health in (Health.ALIVE, Health.ELSEWHERE)

    return Outages(file_of, shop.clock, policy, os.uname().nodename, is_telling)


@cache
def _settings(shop: Workshop) -> SettingsReader:
    return SettingsReader(shop.home.config, shop.configuration, Children(shop.locks))


def _policy(shop: Workshop, log: Callable[[str], None]) -> Policy:
    """Return the configured patience; a faulty configuration must not keep a job from being watched."""
    try:
        return _settings(shop).settings().policy
    except ConfigInvalid as error:
        log(f"the defaults are used: {error}")
        return Policy()


def send(config: Config, owed: Owed) -> Receipt:
    """Make one attempt to deliver; run in a child, since the HTTP library is heavy."""
    from jobmon_core.notify.base import deliver
    from jobmon_core.notify.discord.channel import DiscordChannel
    from jobmon_core.notify.http import post

    webhook = config.webhook(owed.message.route)
    if webhook is None:
        raise ConfigInvalid("the configuration", [f"no {owed.message.route} webhook"])
    return deliver(DiscordChannel(webhook, post, __version__, config.ping), owed)


def heartbeat(shop: Workshop, log: Callable[[str], None]) -> Heartbeat:
    """Return what calls the user's dead-man's switch, if one is configured."""
    stamp = shop.home.monitors / "heartbeat.stamp"
    return Heartbeat(_settings(shop).settings, _call, Children(shop.locks), shop.clock, stamp, log)


def _call(address: HeartbeatUrl) -> str:
    """Call the address; run in a child, as `send` is."""
    from jobmon_core.notify.heartbeat import call
    from jobmon_core.notify.http import post

    return call(address, post, __version__)
