"""Where everything of one user's jobmon is, and which scheduler it talks to.

Most parts are imported where they are asked for: submitting needs few of them, and its user waits.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jobmon_core.store.home import Home
from jobmon_core.store.jobs import JobStore
from jobmon_core.system.clock import Clock, SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from jobmon_core.domain.config import Config
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.notify.base import ChannelType
    from jobmon_core.polling.cluster_name import SharedClusterName
    from jobmon_core.scheduler.base import Scheduler, Submitter
    from jobmon_core.scheduler.slurm.session_search import Sessions
    from jobmon_core.store.dead_channels import DeadChannels
    from jobmon_core.store.monitor_log import MonitorLog
    from jobmon_core.store.owner import OwnerRecord


_RECENT_S = 3600.0


def _channel_types() -> Mapping[str, ChannelType[Any]]:
    from jobmon_core.notify.channels import CHANNEL_TYPES

    return CHANNEL_TYPES


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """The tools of one user's jobmon, made for the home they work in."""

    home: Home
    environment: Mapping[str, str]
    locks: Iterable[int] = ()  # descriptors that a child must not keep
    clock: Clock = field(default_factory=SystemClock)
    channel_types: Callable[[], Mapping[str, ChannelType[Any]]] = _channel_types

    @classmethod
    def open(cls, environment: Mapping[str, str]) -> Context:
        """Return the tools for the home that the environment names or implies."""
        return cls(Home.find(environment), environment)

    @property
    def store(self) -> JobStore:
        """The state files."""
        return JobStore(self.home.state)

    def monitor_log(self, job_id: str) -> MonitorLog:
        """Return the log of the monitor of one job."""
        from jobmon_core.store.monitor_log import MonitorLog

        return MonitorLog(self.home.logs / f"{job_id}.log")

    def configuration(self) -> Config:
        """Read and check the configuration.

        Raises:
            ConfigInvalid: naming every fault.
        """
        from jobmon_core.notify.channels import parsers  # an idle monitor needs neither module
        from jobmon_core.store.config_file import read_config

        return read_config(self.home.config, self.environment, parsers(self.channel_types()))

    def submitter(self, backend: str) -> Submitter:
        """Return what submits to a backend: as little code as possible, since the user waits for it."""
        if backend == "local":
            from jobmon_core.scheduler.local.client import LocalScheduler

            return LocalScheduler(self.home.local_jobs)
        from jobmon_core.scheduler.slurm.session_search import Search
        from jobmon_core.scheduler.slurm.submit import SlurmSubmitter
        from jobmon_core.system.runner import ProgramRunner

        def sessions(cluster: str) -> Sessions:
            from jobmon_core.scheduler.slurm.client import SlurmScheduler

            return SlurmScheduler(ProgramRunner(), cluster).sessions()

        search = Search(
            already_known=self._registered_recently,
            alone=self._search_lock,
        )
        return SlurmSubmitter(ProgramRunner(), sessions, search)

    def scheduler(self, backend: str, cluster: str = "") -> Scheduler:
        """Return a backend by its name; ``cluster`` where another than the default one is meant."""
        if backend == "local":
            from jobmon_core.scheduler.local.client import LocalScheduler

            return LocalScheduler(self.home.local_jobs)
        from jobmon_core.scheduler.slurm.client import SlurmScheduler
        from jobmon_core.system.runner import ProgramRunner

        return SlurmScheduler(ProgramRunner(), cluster)

    def scheduler_fingerprint(self, backend: str) -> tuple[str, str]:
        """Return what tells the scheduler of this environment from others that the same host may talk to."""
        from jobmon_core.system.env_fingerprint import controller_fingerprint

        return backend, controller_fingerprint(self.environment) if backend == "slurm" else ""

    def cluster_name(self, backend: str) -> SharedClusterName:
        """Return what knows the name of the cluster that this host talks to."""
        from jobmon_core.polling.cluster_name import SharedClusterName
        from jobmon_core.store.shared_answers import SharedAnswer

        file = SharedAnswer.named(self.home.shared_answers, "cluster", *self.scheduler_fingerprint(backend))
        return SharedClusterName(self.scheduler(backend), file, self.clock)

    def _search_lock(self) -> AbstractContextManager[None]:
        """Hold off the other submissions of this home."""
        from jobmon_core.system.lock import lock

        return lock(self.home.monitors / "search.lock")

    def _registered_recently(self, ref: JobRef) -> bool:
        """Whether a job is watched, or was just now: an id of former years may be a new job's by now."""
        recent_s = self.clock.now() - _RECENT_S
        return any(not job.closed or job.registered_s > recent_s for job in self.store.find(ref))

    @property
    def dead_channels(self) -> DeadChannels:
        """The channels that are known to be dead."""
        from jobmon_core.store.dead_channels import DeadChannels

        return DeadChannels(self.home.shared_answers)

    def owner_record(self, job_id: str) -> OwnerRecord:
        """Return the record of who watches a job."""
        from jobmon_core.store.owner import OwnerRecord

        return OwnerRecord(self.home.monitors / f"{job_id}.owner")

    def blocking_file(self, job_id: str) -> str:
        """Say what keeps a monitor from taking up a job, and what to do; empty where nothing does."""
        from jobmon_core.system.file_checks import blocking_file

        for path in (self.home.monitors / f"{job_id}{kind}" for kind in (".lock", ".owner")):
            if why := blocking_file(path):
                return f"{path} is in the way: {why}"
        return ""

    def request_cancel(self, job_id: str) -> None:
        """Ask whoever watches a job, on whatever host, to stop.

        Raises:
            StorageFailed: the disk refused.
        """
        from jobmon_core.system.files import touch_private

        touch_private(self._request(job_id))

    def clear_cancel_request(self, job_id: str) -> None:
        """Forget such a request."""
        with suppress(OSError):  # it was nobody's request, but a folder, say
            self._request(job_id).unlink(missing_ok=True)

    def is_cancel_requested(self, job_id: str) -> bool:
        """Whether somebody asked to stop watching a job: what is no file of ours is no request."""
        from jobmon_core.system.file_checks import is_own

        return is_own(self._request(job_id))

    def _request(self, job_id: str) -> Path:
        return self.home.monitors / f"{job_id}.drop"
