"""What a scheduler says about a pending job and about what it waits for.

Times are Unix seconds, durations seconds, sizes bytes. None means "not known".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef
from jobmon_core.domain.slurm.states import JobState


class Category(StrEnum):
    """What a pending job waits for. The values are in ``--json`` output."""

    SCHEDULING = "scheduling"  # not considered yet
    PRIORITY = "priority"
    RESOURCES = "resources"
    LIMIT = "limit"  # of its account, its QOS or their users
    DEPENDENCY = "dependency"
    HELD = "held"
    LAUNCH = "launch_failed"  # held after its launch failed
    RESERVATION = "reservation"
    NODES = "nodes"  # down, drained or reserved
    BEGIN_TIME = "begin_time"
    LICENSES = "licenses"
    CONSTRAINTS = "constraints"  # no node can satisfy the request
    ARRAY_LIMIT = "array_limit"
    PARTITION = "partition"
    ACCOUNT = "account"  # or QOS
    OTHER = "other"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingJob:
    """What the queue says about a job, or about tasks of an array that have not started."""

    ref: JobRef
    state: JobState
    raw_state: str
    reason: str = ""
    pending_indices: IndexSet | None = None
    at_once: int | None = None  # how many tasks may run
    name: str = ""
    user: str = ""
    uid: int | None = None
    partitions: tuple[str, ...] = ()  # the first that can take it counts
    account: str = ""
    qos: str = ""
    priority: int | None = None
    submit_s: int | None = None
    eligible_s: int | None = None
    expected_start_s: int | None = None
    expected_nodes: str = ""
    limit_s: int | None = None  # also None if there is no limit
    dependency: str = ""  # as Slurm writes it
    licenses: str = ""
    features: str = ""
    requested_nodes: str = ""
    reservation: str = ""
    request: PendingRequest | None = None


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """In all, on at least ``nodes`` nodes."""

    nodes: int = 1
    cpus: int | None = None
    memory: int | None = None
    gpus: int = 0
    gpu_type: str = ""  # empty: any
    is_exclusive: bool = False  # it wants whole nodes


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """Of the pending jobs of a partition that may start now."""

    ahead: int  # by priority, then by submission
    others: int  # all but the job itself


@dataclass(frozen=True, slots=True)
class Partition:
    """What it does not limit is None."""

    name: str
    max_time_s: int | None = None
    default_time_s: int | None = None
    state: str = ""  # UP, DOWN, DRAIN, INACTIVE
    nodes: str = ""  # as a list of Slurm: n[1-3]
    total_nodes: int | None = None
    max_nodes: int | None = None
    node_memory_bytes: int | None = None  # the most that a job gets, on average
    is_default: bool = False  # for jobs that name none
    qos: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """What it has, and what jobs use of it."""

    name: str
    state: str = ""  # IDLE+DRAIN, DOWN*, MIXED
    why: str = ""  # an administrator's words
    cpus: int = 0
    used_cpus: int = 0
    memory: int = 0
    used_memory: int = 0
    gpus: dict[str, int] = field(default_factory=dict)  # by type, which may be empty
    used_gpus: dict[str, int] = field(default_factory=dict)
    features: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reservation:
    """Nodes that are kept for some users, or for maintenance."""

    name: str
    start_s: int | None = None
    end_s: int | None = None
    nodes: str = ""  # as a list of Slurm
    is_maintenance: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """Of a QOS or an association, and what counts towards it."""

    owner: str  # e.g. ``QOS long``, ``account physics``
    name: str  # MaxJobsPU, GrpTRES
    resource: str = ""  # cpu, mem, gres/gpu
    allowed: float = 0.0
    used: float | None = None  # None for a limit of each job


@dataclass(frozen=True, slots=True)
class Dependency:
    """One condition of a dependency."""

    kind: str  # afterok, afterany, singleton
    job: str = ""  # empty for a singleton
    is_failed: bool = False
    job_name: str = ""
    job_state: str = ""  # empty if not known


@dataclass(frozen=True, slots=True)
class License:
    """The licences of one kind."""

    name: str
    total: int
    free: int


@dataclass(frozen=True, slots=True)
class PendingFacts:
    """What was asked about a pending job; what its reason does not need is None or empty."""

    job: PendingJob
    also_pending: int = 0  # tasks of the same array
    running: int = 0  # of these tasks
    place: QueuePlace | None = None
    partitions: tuple[Partition, ...] = ()
    nodes: tuple[Node, ...] | None = None
    reservations: tuple[Reservation, ...] = ()
    limits: tuple[Limit, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    licenses: tuple[License, ...] = ()
    unavailable: tuple[str, ...] = ()  # why, for each query without an answer

    @property
    def where(self) -> str:
        """As words: ``partition main``."""
        names = self.job.partitions
        return f"partition{'s' if len(names) > 1 else ''} {', '.join(names)}" if names else "its partition"
