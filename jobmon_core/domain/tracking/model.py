"""A watched job: what is known of it, of each of its parts, and what is owed to its user.

Times are Unix seconds, durations seconds, sizes bytes; None is "not known".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.diagnosis.model import Diagnosis
from jobmon_core.domain.slurm.job_ids import JobRef, ref_of
from jobmon_core.domain.slurm.rows import AccountingRow, Record, Usage
from jobmon_core.domain.slurm.states import JobState, Outcome, Phase
from jobmon_core.domain.tracking.new_job import DEFAULT_BACKEND


class Source(StrEnum):
    """Who said that a job ended."""

    QUEUE = "squeue"
    ACCOUNTING = "sacct"
    RECORD = "scontrol"
    ARRAY = "array"  # Slurm lists the array, without the task that it had announced
    NOBODY = "nobody"  # all were asked, none could tell: the outcome is unknown


@dataclass(frozen=True, slots=True)
class StateChange:
    """A state that a part was in, from when it was seen."""

    state: str  # Slurm's word
    at_s: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """How one part ended, and on whose word."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"raw_state": "word", "source": "witness"}

    state: JobState
    raw_state: str  # Slurm's own, e.g. ``CANCELLED by 1000``
    outcome: Outcome
    source: Source
    exit_code: int | None = None
    exit_code_exact: bool = (
        True  # False where only sacct told it, which prints codes of 128 and more less 128
    )
    signal: int | None = None
    derived_exit_code: int | None = None
    cancelled_by: int | None = None  # uid
    started_s: int | None = None
    ended_s: int | None = None
    limit_s: int | None = None
    nodes: str = ""
    reason: str = ""
    usage: Usage = Usage()
    why: str = ""  # what the user should know about this verdict

    @property
    def elapsed_s(self) -> int | None:
        """How long the last run took; None where it never ran."""
        if self.started_s is None or self.ended_s is None:
            return None
        return max(0, self.ended_s - self.started_s)


class AccountingStatus(StrEnum):
    """How accounting last answered the question about a part."""

    NOT_ASKED = "unasked"
    NO_RECORD = "silent"  # it answered, and knows no end of this run
    UNREACHABLE = "unreachable"
    DISABLED = "disabled"
    FOUND = "told"


@dataclass(frozen=True, slots=True)
class EndInquiry:
    """The search for a witness, from the moment a part left the queue or showed an end there."""

    JSON_KEYS: ClassVar[dict[str, str]] = {
        "queue_state": "shown",
        "queue_raw_state": "shown_word",
        "accounting": "ledger",
        "accounting_error": "ledger_why",
        "attempts": "asked",
        "next_query_s": "next_ask_s",
        "remaining_tasks": "rest",
        "remaining_raw_state": "rest_word",
        "siblings_found": "siblings_told",
        "accounting_is_fresh": "ledger_is_fresh",
    }

    since_s: float
    last_queue_s: float  # the latest queue reply that did not show it alive
    queue_state: JobState | None = None  # the end that the queue shows; None where it lists the part no more
    queue_raw_state: str = ""
    record: Record | None = None
    record_gone: bool = False  # slurmctld answered that it does not know the job
    accounting: AccountingStatus = AccountingStatus.NOT_ASKED
    row: AccountingRow | None = None
    accounting_error: str = ""  # why accounting did not answer, in its own words
    attempts: int = 0  # how often accounting answered or failed to
    next_query_s: float = 0.0
    remaining_tasks: JobState | None = None  # the end of an array's waiting tasks, which may include this one
    remaining_raw_state: str = ""
    siblings_found: bool = False  # accounting knows other tasks of the same array
    accounting_is_fresh: bool = False  # and of one of them something newer than this inquiry


@dataclass(frozen=True, slots=True)
class Task:
    """One part of a job that ends on its own: the job itself, an array task, a het component."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"raw_state": "word", "raw_job_id": "own_id"}

    key: str  # see JobRef.key
    state: JobState = JobState.UNKNOWN
    raw_state: str = ""
    reason: str = ""
    raw_job_id: int | None = None
    submit_s: int | None = None  # of the present run: a requeue resets it
    start_s: int | None = None
    limit_s: int | None = None
    nodes: str = ""
    restarts: int = 0
    history: tuple[StateChange, ...] = ()
    inquiry: EndInquiry | None = None
    end: End | None = None
    diagnosis: Diagnosis | None = None

    @property
    def was_seen(self) -> bool:
        """Whether any witness ever listed this part by itself."""
        return bool(self.history)

    @property
    def has_started(self) -> bool:
        """Whether any witness ever saw this part beyond its waiting."""
        past = (JobState.from_slurm(moment.state).phase for moment in self.history)
        return bool(self.restarts) or any(phase is not Phase.WAITING for phase in past)


@dataclass(frozen=True, slots=True)
class LogPaths:
    """Where the job writes, as templates with Slurm's ``%`` patterns; empty where not known yet."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"source": "told_by"}

    stdout: str = ""
    stderr: str = ""
    source: str = ""  # "the user", "Slurm", or "the script"


@dataclass(frozen=True, slots=True)
class WatchedJob:
    """Everything that is kept about one submission: the content of its state file."""

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
    registered_s: float  # when jobmon took it on
    not_before_s: float = 0.0  # no run of this job was submitted earlier: the id may have been another's
    not_after_s: float | None = None  # nor later: Slurm lost it and gave its id to another
    submitted_s: int | None = None  # the first submission of it that was seen; a requeue is a later one
    backend: str = DEFAULT_BACKEND
    cluster: str = ""
    remote: bool = False  # submitted with -M: questions must name the cluster
    watched_part: str = ""  # the one part that is watched; empty for all
    user: str = ""
    name: str = ""
    partition: str = ""
    workdir: str = ""
    command: str = ""
    batch_host: str = ""
    logs: LogPaths = LogPaths()
    array_indices: str = ""  # the indices of an array, as Slurm announced them
    pending_indices: str = ""  # those of them that have not started
    pending_reason: str = ""  # why not, in Slurm's word
    tasks: dict[str, Task] = field(default_factory=dict)
    record_asked_s: float = 0.0  # when slurmctld was last asked for the job's record
    answered_s: float | None = None  # when the scheduler last answered about this job
    stale_since_s: float | None = None  # since when it does not answer
    stale_why: str = ""
    outage_s: float | None = None  # since when, if this job told the user that it does not; see `outage`
    alerted: tuple[str, ...] = ()  # what the user was told while the job lives
    outbox: tuple[OutboxEntry, ...] = ()
    concluded_s: float | None = None  # when the final messages were made
    unwatched_s: float | None = None  # when the user stopped the monitoring

    @property
    def ref(self) -> JobRef:
        """The job, or the one part of it, that is watched."""
        return ref_of(self.job_id, self.watched_part)

    @property
    def is_array(self) -> bool:
        """Whether this job is an array, of which not just one task is watched."""
        return bool(self.array_indices) and not self.watched_part

    @property
    def ended(self) -> bool:
        """Whether every part ended."""
        return bool(self.tasks) and not self.pending_indices and all(task.end for task in self.tasks.values())

    @property
    def closed(self) -> bool:
        """Whether nothing is left to watch: told, or dropped by the user."""
        return self.concluded_s is not None or self.unwatched_s is not None

    @property
    def finished(self) -> bool:
        """Whether its monitor may leave: dropped, or told with nothing more to tell."""
        owes = self.outage_s is not None or any(entry.is_open for entry in self.outbox)
        return self.unwatched_s is not None or (self.closed and not owes)

    @property
    def undelivered(self) -> int:
        """How many messages are owed or were given up."""
        return sum(1 for entry in self.outbox if entry.delivered_s is None)

    @property
    def outcome(self) -> Outcome | None:
        """What became of the whole; None while any part lives."""
        if not self.ended:
            return None
        return worst(task.end.outcome for task in self.tasks.values() if task.end)

    def is_elsewhere(self, here: Callable[[], str]) -> bool:
        """Whether its cluster is not this machine's, whose name ``here`` tells; it may be empty."""
        return self.remote or (self.cluster != "" and here() not in ("", self.cluster))

    def is_ours(self, submit_s: int | None) -> bool:
        """Whether a run that was submitted then can be this job's, and not that of another of the same id."""
        if submit_s is None:
            return True
        return submit_s >= self.not_before_s and (self.not_after_s is None or submit_s <= self.not_after_s)


FROM_WORST = (Outcome.FAILURE, Outcome.UNKNOWN, Outcome.CANCELLED, Outcome.SUCCESS)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome that decides for the whole; unknown for none at all."""
    return min(outcomes, key=FROM_WORST.index, default=Outcome.UNKNOWN)
