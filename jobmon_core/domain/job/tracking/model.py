"""The state of a watched job: what jobmon knows about it and its tasks, and the messages it sends about it.

Times are Unix seconds, durations are seconds, sizes are bytes. None means "not known".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar

from jobmon_core.domain.backends import DEFAULT_BACKEND, scheduler_phrase
from jobmon_core.domain.delivery.card import JobCard
from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.job.job_settings import AttemptPlace, JobSettings
from jobmon_core.domain.job.restart.model import Decision
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.logs.diagnosis.model import KILLED_FOR_MEMORY, Diagnosis, EarlierLog
from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef, ref_of
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.rows import JobRow, Usage
from jobmon_core.domain.slurm.states import JobState, Outcome, Phase

_NO_SETTINGS = JobSettings()


class Source(StrEnum):
    """Where the proof of an end comes from."""

    QUEUE = "squeue"
    ACCOUNTING = "sacct"
    RECORD = "scontrol"
    ARRAY = "array"  # inferred: the task was removed from its array before it started
    NONE = "nobody"  # no source has an end: the outcome is unknown

    @property
    def phrase(self) -> str:
        """How a sentence about an end names the source."""
        if self is Source.NONE:
            return "no source shows how it ended"
        return "inferred from its array" if self is Source.ARRAY else f"as reported by {self}"


@dataclass(frozen=True, slots=True)
class StateChange:
    """A state of a task and the time when jobmon first saw it."""

    state: str  # as Slurm writes it
    at_s: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """How a task ended, and which source proves it."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"raw_state": "word", "source": "witness"}

    state: JobState
    raw_state: str  # as Slurm writes it, e.g. ``CANCELLED by 1000``
    outcome: Outcome
    source: Source
    exit_code: int | None = None
    exit_code_exact: bool = True  # False if sacct may have subtracted 128: see JobRow
    signal: int | None = None
    derived_exit_code: int | None = None
    cancelled_by: int | None = None  # uid
    dependency: str = ""  # see JobRow
    has_script: bool | None = None  # likewise
    started_s: int | None = None
    ended_s: int | None = None
    limit_s: int | None = None
    nodes: str = ""
    reason: str = ""
    usage: Usage = Usage()
    why: str = ""  # what the user should know about this conclusion
    eligible_s: int | None = None  # since when it could start; see JobRow

    @property
    def elapsed_s(self) -> int | None:
        """The duration of the last run."""
        if self.started_s is None or self.ended_s is None:
            return None
        return max(0, self.ended_s - self.started_s)

    @property
    def never_started(self) -> bool:
        """Whether the task was cancelled before it started."""
        return self.state is JobState.CANCELLED and self.started_s is None


class AccountingStatus(StrEnum):
    """What accounting has answered about a task; a failed query does not undo FOUND."""

    NOT_ASKED = "unasked"
    NO_RECORD = "silent"  # accounting answered, but has no end of this run
    UNREACHABLE = "unreachable"
    DISABLED = "disabled"
    FOUND = "told"

    @property
    def is_answer(self) -> bool:
        """Whether accounting answered, or never can because the cluster has none."""
        return self not in (AccountingStatus.NOT_ASKED, AccountingStatus.UNREACHABLE)


@dataclass(frozen=True, slots=True)
class EndInquiry:
    """The evidence about a possible end, collected since squeue dropped a task or showed its end."""

    JSON_KEYS: ClassVar[dict[str, str]] = {
        "queue_state": "shown",
        "queue_raw_state": "shown_word",
        "accounting": "ledger",
        "accounting_error": "ledger_why",
        "attempts": "asked",
        "next_query_s": "next_ask_s",
        "remaining_state": "rest",
        "remaining_raw_state": "rest_word",
        "array_listed": "siblings_told",
        "accounting_is_fresh": "ledger_is_fresh",
    }

    since_s: float  # time of the squeue query that first did not show the task as alive
    last_queue_s: float  # time of the latest squeue query that did not show the task as alive
    queue_state: JobState | None = None  # the end that squeue shows; None if it does not list the task
    queue_raw_state: str = ""
    record: JobRow | None = None
    record_gone: bool = False  # slurmctld answered, and has no record of the job or of this task
    accounting: AccountingStatus = AccountingStatus.NOT_ASKED
    row: JobRow | None = None
    accounting_error: str = ""  # while `accounting` is UNREACHABLE: sacct's error text
    unreachable_since_s: float | None = None  # while `accounting` is UNREACHABLE: since when
    attempts: int = 0  # number of accounting queries, successful or not
    next_query_s: float = 0.0  # when to query accounting again
    remaining_state: JobState | None = None  # how the array's pending tasks ended; this may be one of them
    remaining_raw_state: str = ""
    array_listed: bool = False  # accounting lists some task of the same array
    accounting_is_fresh: bool = False  # accounting lists a start or an end in this job after `since_s`
    opened_s: float | None = None  # when the monitor read the answer of `since_s`; another may have queried

    @classmethod
    def opened(cls, asked_s: float, policy: Policy, now_s: float) -> EndInquiry:
        """Return an inquiry that begins with the reply to a query of squeue sent at ``asked_s``."""
        return cls(asked_s, asked_s, next_query_s=asked_s + policy.accounting_wait_s(0), opened_s=now_s)


@dataclass(frozen=True, slots=True)
class Task:
    """A part of a job that ends on its own: the job itself, an array task or a het job component."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"raw_state": "word", "raw_job_id": "own_id"}

    key: str  # see JobRef.key
    state: JobState = JobState.UNKNOWN
    raw_state: str = ""
    reason: str = ""
    raw_job_id: int | None = None
    submit_s: int | None = None  # of the current run: a requeue is a new submission
    start_s: int | None = None
    limit_s: int | None = None
    nodes: str = ""
    restarts: int = 0
    history: tuple[StateChange, ...] = ()
    inquiry: EndInquiry | None = None
    end: End | None = None
    diagnosis: Diagnosis | None = None

    @property
    def has_started(self) -> bool:
        """Whether squeue ever showed it in another state than waiting, or Slurm restarted it."""
        phases = (JobState.from_slurm(change.state).phase for change in self.history)
        return bool(self.restarts) or any(phase is not Phase.WAITING for phase in phases)

    @property
    def peak_was_missed(self) -> bool:
        """Whether all samples of the memory missed the peak for which it, or one of its steps, was killed."""
        if self.end is None:
            return False
        used, requested = self.end.usage.max_rss_bytes or 0, self.end.usage.requested_bytes or 0
        found = self.diagnosis
        is_shown = found is not None and found.cause == KILLED_FOR_MEMORY and found.is_proved
        return (self.end.state is JobState.OUT_OF_MEMORY or is_shown) and used < requested

    def diagnosed(self, diagnosis: Diagnosis) -> Task:
        """Return it with a diagnosis; the peak of its memory is the highest that any source measured."""
        measured = diagnosis.measured.node_peak_bytes if diagnosis.measured else None
        if self.end is None or (measured or 0) <= (self.end.usage.max_rss_bytes or 0):
            return replace(self, diagnosis=diagnosis)
        usage = replace(self.end.usage, max_rss_bytes=measured)
        return replace(self, diagnosis=diagnosis, end=replace(self.end, usage=usage))

    @property
    def is_doubtful_success(self) -> bool:
        """Whether Slurm reports success, but the log or the outputs show a failure or unfinished work."""
        succeeded = self.end is not None and self.end.outcome is Outcome.SUCCESS
        return succeeded and self.diagnosis is not None and bool(self.diagnosis.cause)


@dataclass(frozen=True, slots=True)
class WatchedJob:
    """What jobmon stores about one submission: the content of its state file."""

    JSON_KEYS: ClassVar[dict[str, str]] = {
        "registered_s": "taken_s",
        "watched_part": "scope",
        "array_indices": "expected",
        "pending_indices": "waiting",
        "pending_reason": "waiting_reason",
        "alerted": "noticed",
        "unwatched_s": "dropped_s",
    }

    id: str  # the name of its state file, without suffix
    job_id: int
    registered_s: float  # when jobmon began to watch it
    not_before_s: float = 0.0  # runs submitted earlier belong to an older job with the same id
    not_after_s: float | None = None  # runs submitted later belong to a newer job with the same id
    submitted_s: int | None = None  # the earliest submission that jobmon saw; a requeue is a later one
    backend: str = DEFAULT_BACKEND
    cluster: str = ""
    remote: bool = False  # submitted with -M: queries must name the cluster
    watched_part: str = ""  # the key of the only task to watch; empty for all
    user: str = ""
    name: str = ""
    partition: str = ""
    workdir: str = ""
    command: str = ""
    batch_host: str = ""
    logs: LogPaths = LogPaths()
    task_logs: dict[str, LogPaths] = field(default_factory=dict)  # by task, not expanded; else `logs` applies
    worker_logs: tuple[str, ...] = ()  # of processes that are watched together, each with a log of its own
    earlier_logs: dict[str, EarlierLog] = field(default_factory=dict)  # by path, as seen before the start
    submitted_indices: str = ""  # of the array, as given to sbatch; empty if not known
    array_indices: str = ""  # all known indices of an array, e.g. ``1-9``
    pending_indices: str = ""  # those of them that have not started
    pending_reason: str = ""  # why not, as Slurm writes it
    pending_reason_since_s: float | None = None  # when jobmon first saw this reason
    tasks: dict[str, Task] = field(default_factory=dict)
    record_asked_s: float = 0.0  # when jobmon last queried slurmctld for the job's record
    answered_s: float | None = None  # when the latest query that was answered was sent
    stale_since_s: float | None = None  # since when the scheduler has not answered
    stale_why: str = ""  # the scheduler's error text
    outage_s: float | None = None  # start of the outage that this job reported to the user
    agents_since_s: float | None = None  # since when each task that has not ended has an agent that reports
    end_hint_s: float | None = None  # when an agent, or a marker, last showed that the job may have ended
    alerted: tuple[str, ...] = ()  # subjects of the alerts queued about this job so far
    outbox: tuple[OutboxEntry, ...] = ()
    concluded_s: float | None = None  # when the final messages were queued
    unwatched_s: float | None = None  # when the user stopped the monitoring
    unprovable_why: str = ""  # why no source will show an outcome; empty if one may
    settings: JobSettings | None = None  # what the user says about the job, if anything
    card: JobCard = JobCard()
    decision: Decision | None = None  # whether another attempt follows; None without restarts, or not yet
    restart_due_s: float | None = None  # when the next step towards that attempt is due; None: there is none
    record_due_s: float | None = None  # when to add its runs to the history; None: not yet, or done

    @property
    def own_settings(self) -> JobSettings:
        """What the user says about the job, if anything."""
        return self.settings or _NO_SETTINGS

    @property
    def other_cluster(self) -> str:
        """The cluster that queries must name; empty for the local one."""
        return self.cluster if self.remote else ""

    @property
    def ref(self) -> JobRef:
        """The watched job, or its only watched task."""
        return ref_of(self.job_id, self.watched_part)

    @property
    def attempt(self) -> AttemptPlace | None:
        """Its place in a lineage; None if it is part of none."""
        return self.own_settings.attempt

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which a user may call it: the scheduler's, and those of the job's settings."""
        names = (self.name, self.own_settings.name, self.own_settings.run)
        return tuple(dict.fromkeys(name for name in names if name))

    @property
    def label(self) -> str:
        """How lists and messages call it: by its run, since all runs of a sweep have one script."""
        return self.own_settings.run or self.name

    def source_phrase(self, source: Source) -> str:
        """Return `Source.phrase`; without Slurm, it names the other scheduler, or files as the proof."""
        if source is Source.RECORD and self.unprovable_why:
            return "as shown by the files that its configuration names"
        if source not in (Source.ARRAY, Source.NONE) and self.backend != DEFAULT_BACKEND:
            return f"as reported by {scheduler_phrase(self.backend, self.other_cluster)}"
        return source.phrase

    def is_named_by(self, ref: JobRef) -> bool:
        """Whether ``ref`` names this job, a part of it, or the job of which only one part is watched."""
        if self.job_id == ref.job_id:
            return not self.watched_part or ref.key in ("", self.watched_part)
        return not ref.key and any(task.raw_job_id == ref.job_id for task in self.tasks.values())

    def lacks_part(self, key: str) -> bool:
        """Whether the job is known to have no task or component with this `JobRef.key`."""
        is_pending = key.isdigit() and int(key) in IndexSet.parse(self.pending_indices)
        return bool(key and self.tasks) and key not in self.tasks and not is_pending

    @property
    def is_array(self) -> bool:
        """Whether an array is watched, not only one task of it."""
        return bool(self.array_indices) and not self.watched_part

    @property
    def ended(self) -> bool:
        """Whether every task ended."""
        return bool(self.tasks) and not self.pending_indices and all(task.end for task in self.tasks.values())

    @property
    def is_running(self) -> bool:
        """Whether a task runs, or is suspended."""
        return any(task.state.phase is Phase.ACTIVE and not task.end for task in self.tasks.values())

    @property
    def closed(self) -> bool:
        """Whether it is concluded, or the user stopped the monitoring of a job that may still run."""
        return self.concluded_s is not None or self.unwatched_s is not None

    @property
    def finished(self) -> bool:
        """Whether its monitor may leave it: it is concluded with nothing left to do, or not watched."""
        if self.unwatched_s is not None or not self.closed:
            return self.closed
        is_sending = self.card.is_open or any(entry.is_open for entry in self.outbox)
        due = (self.outage_s, self.restart_due_s, self.record_due_s)
        return not is_sending and all(each is None for each in due)

    @property
    def is_restarting(self) -> bool:
        """Whether the next attempt of its lineage is due."""
        return self.restart_due_s is not None and self.unwatched_s is None

    @property
    def is_over(self) -> bool:
        """Whether it is closed, and no further attempt is due."""
        return self.closed and not self.is_restarting

    @property
    def undelivered(self) -> int:
        """The number of messages that are pending or were given up."""
        return sum(entry.is_undelivered and not entry.instead_of for entry in self.outbox)

    @property
    def outcome(self) -> Outcome | None:
        """The worst outcome of its tasks; None until all of them have ended."""
        if not self.ended:
            return None
        return worst(task.end.outcome for task in self.tasks.values() if task.end)

    @property
    def is_doubtful_success(self) -> bool:
        """Whether all tasks succeeded, but at least one of them doubtfully."""
        return self.doubtful_tasks > 0 and self.outcome is Outcome.SUCCESS

    @property
    def doubtful_tasks(self) -> int:
        """The number of tasks that succeeded doubtfully."""
        return sum(task.is_doubtful_success for task in self.tasks.values())

    def is_elsewhere(self, local_cluster: Callable[[], str]) -> bool:
        """Whether the job is on another cluster; ``local_cluster`` returns "" if not known."""
        return self.remote or (self.cluster != "" and local_cluster() not in ("", self.cluster))

    def is_own_run(self, submit_s: int | None) -> bool:
        """Whether a run submitted at ``submit_s`` can be one of this job, not of another with the same id."""
        if submit_s is None:
            return True
        return submit_s >= self.not_before_s and (self.not_after_s is None or submit_s <= self.not_after_s)

    def open_inquiries(self) -> Iterator[tuple[Task, EndInquiry]]:
        """Yield each task whose end jobmon is looking for, with the evidence found so far."""
        return ((task, task.inquiry) for task in self.tasks.values() if task.inquiry and not task.end)

    def update_inquiries(self, update: Callable[[Task, EndInquiry], EndInquiry]) -> WatchedJob:
        """Return the job with ``update`` applied to every open inquiry."""
        new = {task.key: replace(task, inquiry=update(task, each)) for task, each in self.open_inquiries()}
        return replace(self, tasks={**self.tasks, **new})


FROM_WORST = (Outcome.FAILURE, Outcome.UNKNOWN, Outcome.CANCELLED, Outcome.SUCCESS)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome that decides for the whole job; `Outcome.UNKNOWN` if there are none."""
    return min(outcomes, key=FROM_WORST.index, default=Outcome.UNKNOWN)
