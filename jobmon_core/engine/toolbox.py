"""Joins the real adapters into what follows a job: the only place that knows all of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from jobmon_core import __version__
from jobmon_core.domain.config import Config
from jobmon_core.domain.errors import ConfigInvalid, StateUnreadable
from jobmon_core.engine.analysis import Explainer
from jobmon_core.engine.child import Children
from jobmon_core.engine.heartbeat import Heartbeat
from jobmon_core.engine.outages import Outages
from jobmon_core.engine.outbox import Outbox
from jobmon_core.engine.poll import SharedAccounting, SharedQueue
from jobmon_core.engine.supervisor import Supervisor, Tools
from jobmon_core.store.notices import NoticeFile
from jobmon_core.store.replies import ReplyFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.delivery import Owed, Receipt
    from jobmon_core.domain.heartbeat import HeartbeatUrl
    from jobmon_core.domain.job import WatchedJob
    from jobmon_core.engine.wiring import Workshop


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
    elsewhere = job.remote or (job.cluster and here.get() not in ("", job.cluster))
    cluster = job.cluster if elsewhere else ""
    scheduler = shop.scheduler(job.backend, cluster)
    names = (*shop.slurm_here(job.backend), cluster, job.user)
    children = Children(shop.locks)
    config = _sound_configuration(shop, log)
    return Tools(
        scheduler=scheduler,
        queue=SharedQueue(scheduler, ReplyFile.named(shop.home.replies, "queue", *names), shop.clock),
        accounting=SharedAccounting(
            scheduler, ReplyFile.named(shop.home.replies, "accounting", *names), shop.clock
        ),
        outages=_outages(shop, config),
        store=shop.store,
        clock=shop.clock,
        policy=config.policy,
        cluster_name=here.get,
        explain=Explainer(children, shop.home.patterns, log).explain,
        deliver=Outbox(shop.configuration, send, children, shop.clock, shop.dead_channels).deliver,
        dropped=shop.is_dropped,
        log=log,
    )


def _outages(shop: Workshop, config: Config) -> Outages:
    def file_of(job: WatchedJob) -> NoticeFile:
        cluster = job.cluster or shop.cluster_name(job.backend).last_known()
        return NoticeFile.named(shop.home.replies, job.backend, cluster)

    def is_telling(job_id: str) -> bool:
        from jobmon_core.engine.census import Health, snapshot  # needed in an outage only

        try:
            teller = snapshot(shop, shop.store.load(job_id))
        except StateUnreadable:
            return False
        return teller.job.outage_s is not None and teller.health in (Health.ALIVE, Health.ELSEWHERE)

    return Outages(file_of, shop.clock, config.policy, os.uname().nodename, is_telling)


def _sound_configuration(shop: Workshop, log: Callable[[str], None]) -> Config:
    """Return the configuration; a faulty one must not keep a job from being watched."""
    try:
        return shop.configuration()
    except ConfigInvalid as error:
        log(f"the defaults are used: {error}")
        return Config()


def send(config: Config, owed: Owed) -> Receipt:
    """Make one attempt to deliver; run in a child, since the HTTP library is heavy."""
    from jobmon_core.notify.channel import deliver
    from jobmon_core.notify.discord import DiscordChannel
    from jobmon_core.notify.http import post

    webhook = config.webhook(owed.message.route)
    if webhook is None:
        raise ConfigInvalid("the configuration", [f"no {owed.message.route} webhook"])
    return deliver(DiscordChannel(webhook, post, __version__, config.ping), owed)


def heartbeat(shop: Workshop, log: Callable[[str], None]) -> Heartbeat:
    """Return what calls the user's dead-man's switch, if one is configured."""
    stamp = shop.home.monitors / "heartbeat.stamp"
    return Heartbeat(shop.configuration, _call, Children(shop.locks), shop.clock, stamp, log)


def _call(address: HeartbeatUrl) -> str:
    """Call the address; run in a child, as `send` is."""
    from jobmon_core.notify.heartbeat import call
    from jobmon_core.notify.http import post

    return call(address, post, __version__)
