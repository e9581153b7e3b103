"""Rows and answers of the scheduler; lists of nodes in them.

Times are Unix seconds, durations seconds, sizes bytes; None and "" mean that the scheduler gave no value.
"""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import product
from typing import ClassVar

from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef
from jobmon_core.domain.slurm.states import JobState


@dataclass(frozen=True, slots=True)
class Unreachable:
    """No answer, or one that cannot be read. This proves nothing about any job."""

    why: str


@dataclass(frozen=True, slots=True)
class NotListed:
    """An answer that does not contain the job."""

    why: str = ""  # why no source can show the outcome; empty if one may


@dataclass(frozen=True, slots=True)
class Disabled:
    """This cluster has no accounting."""


class GpuSource(StrEnum):
    """Where figures of GPUs come from."""

    AGENTS = "agents"
    ACCOUNTING = "accounting"
    JOBSTATS = "jobstats"  # in the comment of a site's accounting


@dataclass(frozen=True, slots=True)
class GpuUsage:
    """What is not recorded is None, never 0."""

    source: GpuSource
    percent: float | None = None  # utilisation, the mean of all GPUs; of ACCOUNTING, of their peaks
    idle: int | None = None
    memory_bytes: int | None = None  # the highest of a GPU; of ACCOUNTING, of all GPUs together
    measured_s: float | None = None  # None: the whole run

    @property
    def is_mean(self) -> bool:
        """Whether the utilisation is one over time."""
        return self.source is not GpuSource.ACCOUNTING


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run requested and used, as accounting reports it."""

    max_rss_bytes: int | None = None  # sampled, by accounting or an agent: short peaks are missed
    requested_bytes: int | None = None
    cpu_s: float | None = None
    step_cpu_s: float | None = None  # of the steps of srun
    cpus: int | None = None
    run_s: int | None = None  # wall time without the time in which it was suspended
    nodes: int | None = None
    gpus: int | None = None  # None also if the cluster does not account for GPUs
    gpu: GpuUsage | None = None
    gpu_types: str = ""  # as the cluster names them, joined by ``+``; empty if it counts them without types
    billing: int | None = None  # units that an hour counts as


@dataclass(frozen=True, slots=True)
class JobRow:
    """What a scheduler says of a job, or of those tasks of an array that have not started.

    Rows of the queue (``squeue``) have the fields down to ``nodes``. slurmctld's record (``scontrol show
    job``) has true exit codes and log paths. Accounting (``sacct -D``) has a row for each run, with its
    steps; it prints log paths since 24.05, and before 25.11 subtracts 128 from an exit code of 128 or more.
    """

    JSON_KEYS: ClassVar[dict[str, str]] = {
        "raw_state": "word",
        "raw_job_id": "own_id",
        "pending_indices": "waiting",
    }

    ref: JobRef
    state: JobState
    raw_state: str
    _: KW_ONLY
    pending_indices: IndexSet | None = None  # e.g. of 12_[3-9] or 12_[3]
    raw_job_id: int | None = None
    reason: str = ""
    submit_s: int | None = None
    start_s: int | None = None
    end_s: int | None = None
    limit_s: int | None = None  # also None if there is no limit
    nodes: str = ""

    name: str = ""
    user: str = ""
    partition: str = ""
    workdir: str = ""
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    signal: int | None = None
    eligible_s: int | None = None  # since when it was not held, its dependency and begin time met

    # only of a record
    has_script: bool | None = None
    uid: int | None = None
    restarts: int | None = None
    batch_host: str = ""
    paths_expanded: bool = False  # nothing is left to expand in stdout and stderr
    command: str = ""
    dependency: str = ""
    requested_bytes: int | None = None

    # only of accounting, and of the records of PBS
    exit_code_exact: bool = False
    cancelled_by: int | None = None
    derived_exit_code: int | None = None
    elapsed_s: int | None = None
    cluster: str = ""
    usage: Usage = Usage()


QueueAnswer = tuple[JobRow, ...] | Unreachable
RecordAnswer = tuple[JobRow, ...] | NotListed | Unreachable
AccountingAnswer = tuple[JobRow, ...] | Disabled | Unreachable


_NAME = re.compile(r"(?:[^,\[\]]|\[[^\]]*\])+")
_PART = re.compile(r"([^\[\]]+)|\[([^\]]*)\]")
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)
_MAX_RANGE = 100_000


@lru_cache(4096)
def node_names(expression: str) -> tuple[str, ...]:
    """A damaged range counts as one name."""
    return tuple(name for each in _NAME.findall(expression) for name in _expanded(each))


def _expanded(name: str) -> list[str]:
    parts = [[text] if text else _numbers(ranges) for text, ranges in _PART.findall(name)]
    return ["".join(chosen) for chosen in product(*parts)]


def _numbers(ranges: str) -> list[str]:
    numbers: list[str] = []
    for each in ranges.split(","):
        match = _RANGE.fullmatch(each)
        span = range(int(match[1]), int(match[2]) + 1) if match else range(0)
        if match and 0 < len(span) <= _MAX_RANGE:
            numbers += [f"{number:0{len(match[1])}}" for number in span]
        else:
            numbers.append(each)
    return numbers


# slurmctld does not answer, or its answer breaks off; the last is jobmon's own
_NO_ANSWER = ("Unable to contact", "Socket timed out", "Zero Bytes were", "temporarily", "may have accepted")


def is_no_answer(text: str) -> bool:
    """Whether the scheduler did not answer, or asks to try again later."""
    return any(words in text for words in _NO_ANSWER)
