"""The composition root of a user's jobmon: the home, the clock, the environment, and the adapters by name.

Adapters are imported when they are needed: a submission needs few of them, and its user waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.backends import BY_TEXT
from jobmon_core.domain.errors import ConfigInvalid, SchedulerMissing
from jobmon_core.scheduler.backends import WITH_SCRIPTS, find_backend, known_backend
from jobmon_core.scheduler.base import BackendResources, ManualCommands
from jobmon_core.store.home import CheckedHome, Home
from jobmon_core.system.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager

    from jobmon_core.domain.config import Config
    from jobmon_core.domain.delivery.routing import ChannelType
    from jobmon_core.domain.job.history.prices import Prices
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.notes import JobNotes
    from jobmon_core.domain.job.restart.model import ProcessesLeft
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.node.health.model import ClusterResources
    from jobmon_core.domain.node.hosts.profiles import Profile
    from jobmon_core.domain.node.hosts.settings import Host
    from jobmon_core.domain.node.telemetry.agent import AgentOptions
    from jobmon_core.domain.slurm.rows import Unreachable
    from jobmon_core.polling.cluster_name import SharedClusterName
    from jobmon_core.scheduler.base import (
        AgentLaunch,
        JobControl,
        JobMachine,
        RemoteJobs,
        Scheduler,
        Submitter,
    )
    from jobmon_core.store.channels import AlertFiles, ChannelFiles
    from jobmon_core.store.group_files import GroupStore
    from jobmon_core.store.job_files import RunRecordFile
    from jobmon_core.store.jobs import JobStore
    from jobmon_core.store.json_file import JsonFile
    from jobmon_core.store.lineages import LineageStore
    from jobmon_core.store.message_files import MessageStore
    from jobmon_core.store.monitor_log import MonitorLog
    from jobmon_core.store.owner import OwnerRecord, RequestFile
    from jobmon_core.store.shared_answers import SharedAnswer
    from jobmon_core.store.telemetry import TaskTelemetry

_ID_REUSE_S = 3600.0  # a job registered longer ago may be an older job with the same id
_SEARCH_LOCK_TIMEOUT_S = 60.0
_WATCH_LOCK_TIMEOUT_S = 120.0  # long enough for several commands started at once, which run one by one


def backend_names() -> tuple[str, ...]:
    """Return the backends to which scripts can be submitted, the default first."""
    return WITH_SCRIPTS


def configurable_backends() -> tuple[str, ...]:
    """Return what ``backend`` in the configuration may name, the default first."""
    return (*backend_names(), *BY_TEXT)


def _channel_types() -> Mapping[str, ChannelType]:
    from jobmon_core.notify.channels import CHANNEL_TYPES

    return CHANNEL_TYPES


class Context:
    """The paths and adapters of one home; its methods raise SchedulerMissing for an unsupported backend."""

    def __init__(
        self,
        home: Home,
        environment: Mapping[str, str],
        locks: Iterable[int] = (),
        clock: Clock | None = None,
        channel_types: Callable[[], Mapping[str, ChannelType]] = _channel_types,
    ) -> None:
        """Set up without any I/O.

        ``environment`` selects the cluster and may hold secrets; child processes must close ``locks``, the
        descriptors of the locks of jobs; tests replace ``clock``, and add to the table of channel types.
        """
        self.home = home
        self.environment = environment
        self.locks = locks
        self.clock = clock or Clock()
        self.channel_types = channel_types

    @classmethod
    def open(cls, environment: Mapping[str, str]) -> Context:
        """Return the context of the home that the environment selects, see `Home.find`."""
        return cls(Home.find(environment), environment)

    def for_one_look(self) -> Context:
        """Return the same context for one look at many jobs: folders are checked once, not for each job."""
        home = CheckedHome(self.home.root)
        return Context(home, self.environment, self.locks, self.clock, self.channel_types)

    def configuration(self) -> Config:
        """Read and validate the configuration; ConfigInvalid names every fault."""
        from jobmon_core.store.config_file import read_config  # an idle monitor does not need it

        types = self.channel_types()
        return read_config(self.home.config, self.environment, types, configurable_backends())

    def prices(self) -> Prices | None:
        """Return what resources cost; None also if the configuration is invalid, which others report."""
        try:
            return self.configuration().prices
        except ConfigInvalid:
            return None

    @property
    def store(self) -> JobStore:
        """The state files."""
        from jobmon_core.store.jobs import JobStore

        return JobStore(self.home.state)

    def monitor_log(self, state_id: str) -> MonitorLog:
        """Return the log of a job's monitor."""
        from jobmon_core.store.monitor_log import MonitorLog

        return MonitorLog(self.home.log_file(state_id))

    def progress_file(self, state_id: str) -> JsonFile[JobProgress]:
        """Return the progress file of a job."""
        from jobmon_core.store.job_files import progress_file

        return progress_file(self.home.progress_file(state_id))

    def run_record(self, state_id: str) -> RunRecordFile:
        """Return the record of what a job runs."""
        from jobmon_core.store.job_files import RunRecordFile

        return RunRecordFile(self.home.run_file(state_id))

    def notes(self, state_id: str) -> JsonFile[JobNotes]:
        """Return the user's notes about a job."""
        from jobmon_core.domain.job.notes import MAX_FILE_BYTES, JobNotes
        from jobmon_core.store.json_file import JsonFile

        return JsonFile(self.home.note_file(state_id), JobNotes, MAX_FILE_BYTES)

    def telemetry(self, state_id: str, task: str) -> TaskTelemetry:
        """Return what agents measured of one task of a job; ``task`` is its key, empty for the whole job."""
        from jobmon_core.store.telemetry import TaskTelemetry

        return TaskTelemetry(self.home.telemetry_folder(state_id, task))

    def owner_record(self, state_id: str) -> OwnerRecord:
        """Return the record of the process that watches a job."""
        from jobmon_core.store.owner import OwnerRecord

        return OwnerRecord(self.home.owner_file(state_id))

    def cancel_request(self, state_id: str) -> RequestFile:
        """Return the request to stop watching a job."""
        from jobmon_core.store.owner import RequestFile

        return RequestFile(self.home.cancel_file(state_id))

    def replay_request(self, state_id: str) -> RequestFile:
        """Return the request to send the given-up messages of a job again."""
        from jobmon_core.store.owner import RequestFile

        return RequestFile(self.home.replay_file(state_id))

    @property
    def alerts(self) -> AlertFiles:
        """What the user muted and acknowledged, and what each channel got lately."""
        from jobmon_core.store.channels import AlertFiles

        return AlertFiles(self.home.alerts)

    @property
    def messages(self) -> MessageStore:
        """The messages about no single job."""
        from jobmon_core.store.message_files import MessageStore

        return MessageStore(self.home.messages)

    @property
    def groups(self) -> GroupStore:
        """The groups of jobs."""
        from jobmon_core.store.group_files import GroupStore  # many users have none

        return GroupStore(self.home.groups)

    @property
    def lineages(self) -> LineageStore:
        """The lineages of jobs that may be restarted."""
        from jobmon_core.store.lineages import LineageStore  # likewise

        return LineageStore(self.home.lineages)

    @property
    def channel_files(self) -> ChannelFiles:
        """What monitors share about each channel."""
        from jobmon_core.store.channels import ChannelFiles

        return ChannelFiles(self.home.shared_answers)

    def submitter(self, backend: str) -> Submitter:
        """Return the part of a backend that submits jobs."""
        submitter = find_backend(backend).submitter
        if submitter is None:
            names = ", ".join(backend_names())
            raise SchedulerMissing(
                f"the backend {backend!r} takes no scripts; add --backend and one of {names}"
            )
        return submitter(self.backend_resources(backend))

    def scheduler(self, backend: str, cluster: str = "") -> Scheduler:
        """Return a backend's scheduler, for its default cluster unless ``cluster`` names another."""
        return find_backend(backend).scheduler(self.backend_resources(backend), cluster)

    def job_control(self, backend: str, cluster: str = "") -> JobControl:
        """Return what finds and changes a backend's jobs, by default on its default cluster."""
        control = find_backend(backend).job_control
        if control is None:
            raise SchedulerMissing(f"jobmon cannot list, cancel or hold jobs of the backend {backend!r}")
        return control(self.backend_resources(backend), cluster)

    def remote_jobs(self, backend: str, service: str) -> RemoteJobs:
        """Return what finds jobs of a service which names them by text, e.g. a Ray cluster."""
        remote_jobs = find_backend(backend).remote_jobs
        if remote_jobs is None:
            raise SchedulerMissing(f"jobs of the backend {backend!r} have numbers, not names")
        return remote_jobs(self.backend_resources(backend), service)

    def manual_commands(self, job: WatchedJob) -> ManualCommands:
        """Return how a user looks at a job of a service, stops it and starts it again."""
        backend = known_backend(job.backend) if job.remote else None
        if backend is None:
            return ManualCommands()
        return backend.manual_commands(self.backend_resources(job.backend), job.cluster, job.job_id, job.name)

    def cluster_resources(self, backend: str, service: str) -> ClusterResources | Unreachable | None:
        """Query what a service, e.g. a Ray cluster, has and its jobs hold; None if it counts none."""
        query = find_backend(backend).cluster_resources
        return query(self.backend_resources(backend), service) if query else None

    def machine(self, job: WatchedJob) -> JobMachine | None:
        """Return the machine of a job; None if its files can be read here, or not at all."""
        machine_of = find_backend(job.backend).machine
        return (
            machine_of(self.backend_resources(job.backend), job.cluster, job.job_id) if machine_of else None
        )

    def processes_left(self, job: WatchedJob) -> ProcessesLeft | Unreachable | None:
        """Look for processes of a job's lineage on its machine; None if its end proves that none is left."""
        query, place = find_backend(job.backend).processes_left, job.attempt
        if query is None or place is None:
            return None
        return query(self.backend_resources(job.backend), job.cluster, job.job_id, place.lineage)

    def agent_launches(self, job: WatchedJob, task: Task, options: AgentOptions) -> tuple[AgentLaunch, ...]:
        """Return the ways to start agents beside a task: the best first, then those by ssh."""
        launches = find_backend(job.backend).agent_launches
        return launches(self.backend_resources(job.backend), job.job_id, task, options)

    def cluster_name(self, backend: str) -> SharedClusterName:
        """Return the shared name of the cluster that this environment selects."""
        from jobmon_core.polling.cluster_name import SharedClusterName

        file = self.shared_answer("cluster", backend)
        return SharedClusterName(self.scheduler(backend), file, self.clock)

    def shared_answer(self, kind: str, backend: str, *about: str, host: str = "") -> SharedAnswer:
        """Return the file with the latest answer of the scheduler that this environment selects.

        ``kind`` is ``queue``, ``accounting`` or ``cluster``; ``about``, but for the last, the cluster (empty:
        the default one) and the user; ``host``, whose monitors share the answer, by default this one.
        """
        from jobmon_core.store.shared_answers import SharedAnswer

        controller = find_backend(backend).controller_id(self.environment)
        return SharedAnswer.named(self.home.shared_answers, kind, backend, controller, *about, host=host)

    def backend_resources(self, backend: str) -> BackendResources:
        """Return the resources of this home that a backend may use."""
        return BackendResources(
            folder=lambda: self.home.backend_folder(backend),
            is_known=lambda ref: self.store.is_registered(ref, self.clock.now() - _ID_REUSE_S),
            search_lock=self._search_lock,
            hosts=self._hosts,
            locks=self.locks,
        )

    def _hosts(self) -> Mapping[str, Host]:
        from jobmon_core.domain.node.hosts.settings import parse_hosts  # only for users who have such hosts
        from jobmon_core.store.config_file import read_section

        return read_section(self.home.config, "hosts", parse_hosts)

    def profiles(self) -> Mapping[str, Profile]:
        """Return the clusters with a jobmon of their own; ConfigInvalid."""
        from jobmon_core.domain.node.hosts.profiles import parse_profiles
        from jobmon_core.store.config_file import read_section

        return read_section(self.home.config, "profiles", parse_profiles)

    def watch_lock(self) -> AbstractContextManager[None]:
        """Serialise the `jobmon watch` commands of this home: two could start a monitor for the same job.

        Entering it raises CommandBusy if another one has not finished within two minutes.
        """
        from jobmon_core.system.lock import command_lock

        return command_lock(self.home.monitors / "watch.lock", "jobmon watch", _WATCH_LOCK_TIMEOUT_S)

    def _search_lock(self) -> AbstractContextManager[None]:
        """Serialise the searches of this home for a job whose id sbatch did not report."""
        from jobmon_core.system.lock import command_lock

        return command_lock(self.home.monitors / "search.lock", "jobmon submit", _SEARCH_LOCK_TIMEOUT_S)
