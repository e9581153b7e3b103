"""Picks the real adapters and joins them: the only place that knows all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jobmon_core import __version__
from jobmon_core.domain.config import Config
from jobmon_core.domain.delivery import Owed, Receipt
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.job import WatchedJob
from jobmon_core.engine.analysis import Explainer
from jobmon_core.engine.child import Children
from jobmon_core.engine.clock import Clock, SystemClock
from jobmon_core.engine.outbox import Outbox
from jobmon_core.engine.poll import SharedAccounting, SharedQueue
from jobmon_core.engine.supervisor import Supervisor, Tools
from jobmon_core.scheduler.contract import Scheduler
from jobmon_core.store.configfile import read_config, tighten
from jobmon_core.store.home import Home
from jobmon_core.store.jobs import JobStore
from jobmon_core.store.logbook import Logbook
from jobmon_core.store.owner import OwnerRecord
from jobmon_core.store.replies import ReplyFile


@dataclass(frozen=True, slots=True)
class Workshop:
    """The tools of one user's jobmon, made for the home they work in."""

    home: Home
    environment: Mapping[str, str]
    locks: tuple[int, ...] = ()  # descriptors that a child must not keep
    clock: Clock = field(default_factory=SystemClock)

    @classmethod
    def open(cls, environment: Mapping[str, str]) -> Workshop:
        """Return the tools for the home that the environment names or implies."""
        return cls(Home.find(environment), environment)

    @property
    def store(self) -> JobStore:
        """The state files."""
        return JobStore(self.home.state)

    def tighten_configuration(self) -> bool:
        """Close the configuration to others; return whether it was open to them."""
        return tighten(self.home.config)

    def monitor_log(self, job_id: str) -> Logbook:
        """Return the log of the monitor of one job."""
        return Logbook(self.home.logs / f"{job_id}.log")

    def configuration(self) -> Config:
        """Read and check the configuration.

        Raises:
            ConfigInvalid: naming every fault.
        """
        return read_config(self.home.config, self.environment)

    def scheduler(self, backend: str, cluster: str = "") -> Scheduler:
        """Return a backend by its name; ``cluster`` where another than the default one is meant."""
        if backend == "local":
            from jobmon_core.scheduler.local.client import LocalScheduler

            return LocalScheduler(self.home.local_jobs)
        from jobmon_core.scheduler.runner import Programs
        from jobmon_core.scheduler.slurm.client import SlurmScheduler
        from jobmon_core.scheduler.slurm.submitting import Search

        search = Search(already_known=lambda ref: bool(self.store.find(ref)))
        return SlurmScheduler(Programs(), cluster, search=search)

    def supervisor(self, job_id: str, log: Callable[[str], None]) -> Supervisor:
        """Return what follows one job, by its state file.

        Raises:
            StateUnreadable: the state can't be read.
        """
        job = self.store.load(job_id)
        return Supervisor(job, self._tools(job, log))

    def _tools(self, job: WatchedJob, log: Callable[[str], None]) -> Tools:
        cluster = job.cluster if job.remote else ""
        scheduler = self.scheduler(job.backend, cluster)
        names = (job.backend, cluster, job.user)
        children = Children(self.locks)
        config = self._sound_configuration(log)
        return Tools(
            scheduler=scheduler,
            queue=SharedQueue(scheduler, ReplyFile.named(self.home.replies, "queue", *names), self.clock),
            accounting=SharedAccounting(
                scheduler, ReplyFile.named(self.home.replies, "accounting", *names), self.clock
            ),
            store=self.store,
            clock=self.clock,
            policy=config.policy,
            explain=Explainer(children, self.home.patterns, log).explain,
            deliver=Outbox(self.configuration, send, children, self.clock).deliver,
            dropped=lambda job_id: self._request(job_id).exists(),
            log=log,
        )

    def _sound_configuration(self, log: Callable[[str], None]) -> Config:
        """Return the configuration; a faulty one must not keep a job from being watched."""
        try:
            return self.configuration()
        except ConfigInvalid as error:
            log(f"the defaults are used: {error}")
            return Config()

    def owner_record(self, job_id: str) -> OwnerRecord:
        """Return the record of who watches a job."""
        return OwnerRecord(self.home.monitors / f"{job_id}.owner")

    def request_drop(self, job_id: str) -> None:
        """Ask whoever watches a job, on whatever host, to stop."""
        self._request(job_id).touch(mode=0o600)

    def withdraw_request(self, job_id: str) -> None:
        """Forget such a request."""
        self._request(job_id).unlink(missing_ok=True)

    def _request(self, job_id: str) -> Path:
        return self.home.monitors / f"{job_id}.drop"


def send(config: Config, owed: Owed) -> Receipt:
    """Make one attempt to deliver; run in a child, since the HTTP library is heavy."""
    from jobmon_core.notify.channel import deliver
    from jobmon_core.notify.discord import DiscordChannel
    from jobmon_core.notify.http import post

    webhook = config.webhook(owed.message.route)
    if webhook is None:
        raise ConfigInvalid("the configuration", [f"no {owed.message.route} webhook"])
    return deliver(DiscordChannel(webhook, post, __version__, config.ping), owed)
