"""The interface of a scheduler, and the record that describes a backend."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from jobmon_core.domain.job.tracking.policy import NO_HURRY_S

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from jobmon_core.domain.artifacts.model import Listing
    from jobmon_core.domain.backends import OutageWords
    from jobmon_core.domain.before.checks.facts import SubmissionAnswer
    from jobmon_core.domain.before.pending.model import Partition, PendingFacts
    from jobmon_core.domain.before.pending.partitions import PartitionUse
    from jobmon_core.domain.job.restart.model import ProcessesLeft
    from jobmon_core.domain.job.tracking.model import Task
    from jobmon_core.domain.logs.diagnosis.model import StepUsage
    from jobmon_core.domain.node.health.model import ClusterResources
    from jobmon_core.domain.node.hosts.settings import Host
    from jobmon_core.domain.node.telemetry.agent import AgentOptions
    from jobmon_core.domain.node.telemetry.model import Sample
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.slurm.log_paths import LogPaths
    from jobmon_core.domain.slurm.rows import Disabled, JobRow, NotListed, RecordAnswer, Unreachable
    from jobmon_core.system.runner import Runner


class Submitted(NamedTuple):
    """A job that the scheduler accepted."""

    ref: JobRef
    cluster: str = ""


class Submission(NamedTuple):
    """What became of a submission."""

    exit_code: int
    job: Submitted | None
    note: str = ""  # for the user, e.g. that the job exists although sbatch failed

    @property
    def shell_code(self) -> int:
        """The exit code as a shell reports it: 128 + n after signal n."""
        if self.exit_code >= 0:
            return self.exit_code
        return 128 - self.exit_code


class SubmissionWords(NamedTuple):
    """A command line that is not sbatch's: its options, the script with its arguments, and what they say."""

    options: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    script: str = ""  # its path; empty without one
    name: str = ""  # of the job
    array: str = ""  # the indices
    dependency: str = ""
    warnings: tuple[str, ...] = ()


class CommandLine(Protocol):
    """The language of a submitter that is not sbatch."""

    def read(self, arguments: Sequence[str]) -> SubmissionWords:
        """Read a command line and the directives of its script; SchedulerRejected if it is wrong."""

    def with_options(
        self, arguments: Sequence[str], added: Sequence[str], variables: Iterable[str] = ()
    ) -> list[str]:
        """A command line with more options, which count; the job gets these variables of the environment."""

    def as_sbatch(self, arguments: Sequence[str]) -> list[str]:
        """The command line of sbatch that asks for the same, as far as checks need it."""

    def after(self, condition: str, job_id: int, *, is_array: bool) -> tuple[str, ...]:
        """The options that let a job start after another one; ``condition`` as in ``afterok``."""

    @property
    def program(self) -> str:
        """What submits."""

    @property
    def never_again(self) -> tuple[str, ...]:
        """The options with which the scheduler itself never starts the job again."""


class Submitter(Protocol):
    """Submits jobs on behalf of the user."""

    def submit(
        self,
        arguments: Sequence[str],
        on_job: Callable[[Submitted], None],
        on_start: Callable[[], None] | None = None,
    ) -> Submission:
        """Submit as the scheduler's own command would; its output passes through unchanged.

        ``on_start`` is called meanwhile, ``on_job`` when it is certain which job it is, while the command may
        still run; again if a later line names another job. Raises SchedulerMissing without the scheduler's
        commands.
        """


class Scheduler(Protocol):
    """A scheduler that can be queried; `Unreachable` is an answer, too, and nothing raises."""

    name: str

    def ask_queue(self, user: str) -> str | Unreachable:
        """Query all jobs of a user, also those that ended recently."""

    def read_queue(self, text: str, job_ids: Collection[int]) -> tuple[JobRow, ...]:
        """Parse the rows of these jobs; invalid rows are skipped."""

    def ask_accounting(
        self, job_ids: Sequence[int], within_s: float = NO_HURRY_S
    ) -> str | Disabled | Unreachable:
        """Query all runs of several jobs; ``within_s`` limits each command."""

    def read_accounting(self, text: str, job_id: int) -> tuple[JobRow, ...]:
        """Parse the rows of one job, oldest run first."""

    def ask_record(self, job_id: int) -> RecordAnswer:
        """Query all that the controller remembers of a job and its array tasks."""

    def ask_log_templates(self, job_id: int) -> LogPaths | None:
        """Query the patterns of a job's logs; None if unavailable."""

    def script_of(self, job_id: int) -> str:
        """The text of the batch script; empty if unavailable."""

    def cluster_name(self) -> str:
        """The cluster's name; empty if unavailable."""


class BackendResources(NamedTuple):
    """What a backend may use of the user's jobmon home.

    Attributes:
        folder: creates the folder for the backend's own files.
        is_known: whether jobmon watches this job, or did until recently.
        search_lock: no two searches for a job whose id was not reported choose the same one.
        hosts: those that are reached by ssh, by name; raises ConfigInvalid.
        locks: descriptors that child processes must close.
    """

    folder: Callable[[], Path]
    is_known: Callable[[JobRef], bool]
    search_lock: Callable[[], AbstractContextManager[None]]
    hosts: Callable[[], Mapping[str, Host]] = dict
    locks: Iterable[int] = ()


class AgentLaunch(NamedTuple):
    """Programs that run on this host while the agents of a task run."""

    commands: tuple[tuple[str, ...], ...]
    stop_signal: int


class CutOffSubmission(NamedTuple):
    """A submission whose result is not known: the process that made it was killed."""

    session: int
    host: str
    since_s: float  # Unix seconds
    folder: str
    arguments: tuple[str, ...]


class Untraceable(NamedTuple):
    """Nobody can find out any more whether a submission made a job."""

    why: str


class JobControl(Protocol):
    """Finds and changes jobs. Changes return the scheduler's error text, empty without one."""

    def cancel(self, refs: Sequence[JobRef]) -> str:
        """Cancel those that have not ended."""

    def hold(self, refs: Sequence[JobRef]) -> str:
        """Keep pending jobs from starting."""

    def release(self, refs: Sequence[JobRef]) -> str:
        """Undo `hold`."""

    def queued_jobs(self, user: str) -> dict[JobRef, str] | Unreachable:
        """The names of a user's pending and running jobs, in the order of their ids."""

    def find_submission(
        self, submission: CutOffSubmission, others: Collection[JobRef], now_s: float
    ) -> JobRef | NotListed | Untraceable | Unreachable:
        """Find the job of a submission, none of ``others``; `NotListed` only if it made no job."""


class RemoteJob(NamedTuple):
    """A job of a service that names its jobs by text; elsewhere jobmon's number stands for it."""

    ref: JobRef
    cluster: str  # the service, as `Backend.scheduler` takes it and as users see it
    name: str
    logs: LogPaths
    user: str = ""
    workdir: str = ""
    command: str = ""
    submit_s: int | None = None  # Unix seconds
    unprovable_why: str = ""  # why it may end without a source that shows how; see `WatchedJob`
    further_logs: str = ""  # the pattern of those of its further workers, in the folder of `logs`


class RemoteJobs(Protocol):
    """Finds the jobs of one service."""

    def register(self, name: str) -> RemoteJob:
        """The job with this name; it keeps the number that it has."""

    def names(self) -> tuple[str, ...]:
        """The names of jobs that have not ended; of a host, those of tmux sessions."""


class Fate(StrEnum):
    """What became of a submission."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class SubmitResult(NamedTuple):
    """With the reason unless it was accepted."""

    fate: Fate
    why: str = ""


class ServiceSubmission(Protocol):
    """One job that is to be submitted to a service, at most once."""

    def record(self) -> RemoteJob:
        """Record the job before it is submitted."""

    def submit(self) -> SubmitResult:
        """Submit it, unless that was done before."""

    def discard(self) -> None:
        """Remove the record: it was not submitted."""


class FileEnds(NamedTuple):
    """The first and the last bytes of a file; they may overlap."""

    head: bytes
    tail: bytes
    size_bytes: int


class JobMachine(Protocol):
    """The machine of a job whose files cannot be read here. Questions raise JobmonError without an answer."""

    def sample(self) -> Sample | None:
        """The figures of the latest look."""

    def outputs(self) -> tuple[Listing, ...]:
        """Those of the latest look."""

    def markers(self) -> dict[str, bool]:
        """Whether the latest look showed them, by their names."""

    @property
    def folders(self) -> tuple[str, ...]:
        """Those that the job was given for its files, and last, its working directory."""

    def files_below(self, folder: str) -> Listing:
        """List files of the user and of root, with times of this machine's clock."""

    def ends_of(self, paths: Sequence[str]) -> dict[str, FileEnds]:
        """Read the ends of files by their absolute paths, as far as they can be read."""


class ManualCommands(NamedTuple):
    """The commands with which a user handles a job of a service, as far as known."""

    look: tuple[str, ...] = ()  # these and `stop` run programs of the service or of the system
    stop: tuple[str, ...] = ()
    start: str = ""
    start_note: str = ""  # what to know about `start`, or why there is none


class Backend(NamedTuple):
    """A supported scheduler, and what it can do; a field is None where it cannot.

    Attributes:
        name: as in ``--backend``, the configuration and the state files.
        display_name: as it starts a sentence, e.g. "Slurm".
        submitter: imports little, because the user waits for it; None: the backend takes no batch scripts.
        command_line: the language of the submitter; None: it is sbatch's.
        scheduler: for the named cluster; an empty name is the default cluster.
        cancel_command: the shell command that cancels a job, by its id, its name, and the cluster or service
            if a command must name it; empty if there is none.
        submit_sentinel: submits a small job that runs a command, in a folder and with a log, when another job
            ends, or raises SchedulerRejected.
        controller_id: of the controller that an environment selects; empty if there is only one.
        agent_launches: the ways to start agents beside a task of a job: the best first, then those by ssh;
            none if this host cannot reach its processes.
        in_job: the command that runs a command on each node of a running job, by its raw id and cluster.
        test_only: whether arguments, in an environment, would be accepted.
        partition: the limits of partitions (``a,b``; empty: the default one) of a cluster.
        version: that of the scheduler.
        submit_short_job: submits the short job of `check --on-node`: under a name that no other job has, with
            options, a script and a log. Raises SchedulerMissing, SchedulerRejected, and SchedulerUnavailable
            without an answer: then it is cancelled if it exists, or the error says how to cancel it.
        pending_facts: what a job on a cluster waits for.
        partition_uses: what each partition of the default cluster has, and has free.
        job_control: of a cluster.
        step_usage: what running jobs of the default cluster use, by raw job id.
        past_runs: all runs on a cluster of a user at some time in between (Unix seconds), with their steps.
        remote_jobs: of a service; None if the backend's jobs have numbers.
        cluster_resources: what a service has and what its jobs hold.
        manual_commands: how a user handles the job with this number and name, of a service.
        outage_words: of the message about an outage; None: the usual text about a scheduler.
        machine: of the job with this number; None if the files of jobs can be read here, or not at all.
        processes_left: the processes of a lineage (the last argument) that still run there; None if the end
            of a job proves that none does.
    """

    name: str
    display_name: str
    submitter: Callable[[BackendResources], Submitter] | None
    scheduler: Callable[[BackendResources, str], Scheduler]
    command_line: CommandLine | None = None
    cancel_command: Callable[[str, str, str], str] = lambda *_: ""
    submit_sentinel: Callable[[Runner, Submitted, Sequence[str], str, str], Submitted] | None = None
    controller_id: Callable[[Mapping[str, str]], str] = lambda _environment: ""
    agent_launches: Callable[[BackendResources, int, Task, AgentOptions], tuple[AgentLaunch, ...]] = (
        lambda *_: ()
    )
    in_job: Callable[[str, str, Sequence[str]], Sequence[str]] | None = None
    test_only: Callable[[Runner, Sequence[str], Mapping[str, str]], SubmissionAnswer] | None = None
    partition: Callable[[Runner, str, str], Partition | None] = lambda *_: None
    version: Callable[[Runner], tuple[int, int] | None] = lambda _runner: None
    submit_short_job: Callable[[Runner, str, Sequence[str], str, str], Submitted] | None = None
    pending_facts: Callable[[Runner, JobRef, str], PendingFacts | NotListed | Unreachable] | None = None
    partition_uses: Callable[[Runner], tuple[PartitionUse, ...] | Unreachable] | None = None
    job_control: Callable[[BackendResources, str], JobControl] | None = None
    step_usage: Callable[[Runner, Sequence[int]], Mapping[int, StepUsage]] | None = None
    past_runs: Callable[[Runner, str, str, float, float], list[JobRow] | Disabled | Unreachable] | None = None
    remote_jobs: Callable[[BackendResources, str], RemoteJobs] | None = None
    cluster_resources: Callable[[BackendResources, str], ClusterResources | Unreachable] | None = None
    manual_commands: Callable[[BackendResources, str, int, str], ManualCommands] = lambda *_: ManualCommands()
    outage_words: OutageWords | None = None
    processes_left: Callable[[BackendResources, str, int, str], ProcessesLeft | Unreachable] | None = None
    machine: Callable[[BackendResources, str, int], JobMachine] | None = None


def deferred(module: str, name: str) -> Callable[..., Any]:
    """A function that imports ``name`` from a module of `jobmon_core.scheduler` when it is called.

    Every command and monitor has the table of all backends; few need more of them.
    """
    return partial(_call, module, name)


def _call(module: str, name: str, *arguments: Any) -> Any:  # noqa: ANN401 - of any function
    return getattr(import_module(f"jobmon_core.scheduler.{module}"), name)(*arguments)


def with_runner(module: str, name: str) -> Callable[..., Any]:
    """Likewise of what runs commands: instead of a home, it takes what runs them, then a cluster, if any."""
    return partial(_with_runner, module, name)


def _with_runner(module: str, name: str, _resources: BackendResources, *cluster: str) -> Any:  # noqa: ANN401 - see `_call`
    from jobmon_core.system.runner import Runner

    return _call(module, name, Runner(), *cluster)
