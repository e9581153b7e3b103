"""What the scheduler said of jobs, as values; see `answers` for the kinds of answers.

Times are Unix seconds, durations seconds, sizes bytes; None is "not told".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef
from jobmon_core.domain.slurm.states import JobState

NO_HURRY_S = float("inf")  # how long an answer may take that nothing waits for


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The scheduler did not answer, or not intelligibly. Nothing follows from it."""

    why: str


@dataclass(frozen=True, slots=True)
class NotListed:
    """The scheduler answered, and the job was not there."""


@dataclass(frozen=True, slots=True)
class Disabled:
    """This cluster keeps no accounting: there is no such witness."""


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """The scheduler's own words, not yet read; many monitors share one."""

    text: str
    asked_s: float  # when the question was put: what the reply can know


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One row of the queue. ``waiting`` names the array tasks that it stands for, if many."""

    JSON_KEYS: ClassVar[dict[str, str]] = {
        "raw_state": "word",
        "raw_job_id": "own_id",
        "pending_indices": "waiting",
    }

    ref: JobRef
    state: JobState
    raw_state: str  # the state as Slurm wrote it
    reason: str = ""
    pending_indices: IndexSet | None = None
    raw_job_id: int | None = None  # an array task's or a component's own job id
    submit_s: int | None = None
    start_s: int | None = None
    end_s: int | None = None
    limit_s: int | None = None  # None too where there is no limit
    nodes: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """What slurmctld remembers of one job (``scontrol show job``): true exit codes and log paths."""

    JSON_KEYS: ClassVar[dict[str, str]] = {
        "raw_state": "word",
        "raw_job_id": "own_id",
        "pending_indices": "waiting",
    }

    ref: JobRef
    state: JobState
    raw_state: str
    raw_job_id: int | None = None
    pending_indices: IndexSet | None = None
    reason: str = ""
    name: str = ""
    user: str = ""
    uid: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    restarts: int | None = None
    submit_s: int | None = None
    start_s: int | None = None
    end_s: int | None = None
    limit_s: int | None = None
    nodes: str = ""
    batch_host: str = ""
    workdir: str = ""
    stdout: str = ""
    stderr: str = ""
    command: str = ""
    partition: str = ""
    requested_bytes: int | None = None  # memory of the whole job, where Slurm tells it


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run used, as accounting sampled it."""

    max_rss_bytes: int | None = None
    requested_bytes: int | None = None
    cpu_s: float | None = None
    cpus: int | None = None


@dataclass(frozen=True, slots=True)
class AccountingRow:
    """One run of a job as accounting has it (``sacct -D``), its steps folded in.

    sacct prints exit codes of 128 and more wrongly (less 128): ``exit_code`` may be 128 too small.
    """

    JSON_KEYS: ClassVar[dict[str, str]] = {
        "raw_state": "word",
        "raw_job_id": "own_id",
        "pending_indices": "waiting",
    }

    ref: JobRef
    state: JobState
    raw_state: str
    raw_job_id: int | None = None
    pending_indices: IndexSet | None = None
    cancelled_by: int | None = None  # uid
    exit_code: int | None = None
    signal: int | None = None
    derived_exit_code: int | None = None
    submit_s: int | None = None
    start_s: int | None = None
    end_s: int | None = None
    elapsed_s: int | None = None
    limit_s: int | None = None
    nodes: str = ""
    reason: str = ""
    partition: str = ""
    name: str = ""
    cluster: str = ""
    user: str = ""
    workdir: str = ""
    usage: Usage = Usage()


QueueAnswer = tuple[QueueRow, ...] | Unreachable
RecordAnswer = tuple[Record, ...] | NotListed | Unreachable
AccountingAnswer = tuple[AccountingRow, ...] | Disabled | Unreachable
