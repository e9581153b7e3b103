"""What an agent measures on one node of a running task.

Percentages, rates and power are averages over `Sample.span_s`; all other figures are as of its end, unless
their comment says otherwise. Samples of the history also average some sizes and the temperature, see
`telemetry.mean`. Times are Unix seconds, sizes bytes, rates per second, percentages 0 to 100 unless stated.
None means "not available", e.g. because the driver does not offer a figure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from jobmon_core.domain.artifacts.disk import Disk


class WorkerStatus(StrEnum):
    """By the states of a worker's main process in /proc."""

    RUNNING = "running"
    SLEEPING = "sleeping"
    BLOCKED = "blocked"  # in the kernel, mostly waiting for a disk or a file server
    STOPPED = "stopped"
    ZOMBIE = "zombie"
    DEAD = "dead"  # it was seen, and has ended
    NOT_FOUND = "not_found"  # it was never seen


GONE = (WorkerStatus.DEAD, WorkerStatus.ZOMBIE, WorkerStatus.NOT_FOUND)


@dataclass(frozen=True, slots=True)
class Worker:
    """A process with a rank of its own, or else a topmost program, with its descendants."""

    pid: int
    name: str = ""  # e.g. ``python train.py``
    rank: int | None = None  # see `telemetry.workers`
    status: WorkerStatus = WorkerStatus.RUNNING
    started_s: float = 0.0
    cpu_percent: float | None = None  # of one core; with its descendants
    memory: int | None = None  # resident, with its descendants
    threads: int = 0  # of the main process
    children: int = 0  # all descendants
    blocked_percent: float | None = None  # share of the readings that found the main process blocked
    last_activity_s: float | None = None  # when it last used CPU time, read or wrote
    gpus: tuple[int, ...] = ()  # indices
    read_per_s: float | None = None  # from disks and file servers, with its descendants
    written_per_s: float | None = None
    omp_threads: int | None = None  # OMP_NUM_THREADS
    zombies: int = 0  # descendants that nothing has reaped
    exit_code: int | None = None  # with `signal`, None if how it ended is not known
    signal: int | None = None
    log: str = ""  # the file that only it printed to
    is_pooled: bool = False  # of a pool such as xargs, whose workers end one after the other


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU of a task."""

    index: int  # on the node
    uuid: str = ""
    name: str = ""
    utilization_percent: float | None = None  # share of the time in which any kernel ran
    # among the driver's samples within the span, else the agent's readings
    lowest_percent: float | None = None
    highest_percent: float | None = None
    memory: int | None = None  # by all processes; an older driver counts what it reserves for itself, too
    memory_total: int | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None
    own_pids: tuple[int, ...] = ()  # of the task
    other_processes: int | None = None  # that do not belong to the task
    sm_percent: float | None = None  # of the SMs; like the next two by NVML GPM
    tensor_percent: float | None = None  # share of the time in which tensor cores were busy
    bandwidth_percent: float | None = None  # of the memory
    throttle_reasons: tuple[str, ...] = ()  # only those that slow it down, e.g. ``thermal``, ``power cap``
    ecc_errors: int | None = None  # uncorrected, since the driver was loaded
    remapped_rows: int | None = None
    nvlink_errors: int | None = None
    xids: tuple[int, ...] = ()  # NVIDIA's error numbers since the agent started
    is_mig: bool = False  # partitioned: the driver then gives no utilisation
    is_lost: bool = False  # the driver does not reach it


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of the task, as of the end of the span."""

    used: int
    limit: int | None = None  # None: not known
    oom_kills: int | None = None  # processes that the kernel's OOM killer killed so far
    # ``cgroup v2``, ``cgroup v1``, ``processes`` (the sum of what is resident), or ``shared cgroup``: that
    # one has other processes, too; ``used`` is what the task has resident, ``limit`` that plus what is left
    source: str = ""
    agent_kills: int = 0  # further killed processes, which were agents

    @property
    def share(self) -> float | None:
        """How much of the limit is used."""
        if self.limit:
            return self.used / self.limit
        return None


@dataclass(frozen=True, slots=True)
class Cpu:
    """The cores that the task may use."""

    cores: float  # by its CPU affinity and the quota of its cgroup
    used_percent: float | None = None  # of one core, by all processes
    throttled_percent: float | None = None  # share of the time in which the quota held it back
    threads: int | None = None
    # that computed or waited for a core; None: few threads, or little use
    runnable_threads: float | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """The whole node, with what others run there."""

    name: str = ""
    cores: int = 0
    load: float | None = None  # over one minute
    cpu_percent: float | None = None  # of all cores
    io_wait_percent: float | None = None  # of all cores
    memory_total: int | None = None
    memory_available: int | None = None
    received_per_s: float | None = None  # over all network interfaces but the loopback
    sent_per_s: float | None = None


_NO_NODE = Node()


@dataclass(frozen=True, slots=True)
class Sample:
    """What an agent measured in one span of time."""

    at_s: float = 0.0  # the end of the span
    span_s: float = 0.0
    node: Node = _NO_NODE
    workers: tuple[Worker, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    memory: Memory | None = None
    cpu: Cpu | None = None
    disks: tuple[Disk, ...] = ()  # as of the end of the span


@dataclass(frozen=True, slots=True)
class RankGroup:
    """The workers on a node that one command, e.g. a step of srun, has launched."""

    launcher: str = ""  # ``srun``, ``MPI`` or ``torch``
    name: str = ""  # differs between groups of a job; the same on all nodes
    size: int = 0  # on all nodes, by the environment that the launcher gave them
    running: tuple[int, ...] = ()  # ranks
    ended: tuple[int, ...] = ()  # that were seen and no longer run
    needs_all: bool = False  # as PyTorch's ranks: none may end before the others
    is_sure: bool = True  # the launcher set the size; else it may be a setting in the job's script

    @property
    def missing(self) -> set[int]:
        """The ranks that do not run."""
        return set(range(self.size)).difference(self.running)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that the task uses."""

    path: str
    exists: bool = False
    is_writable: bool = False  # if it does not exist: whether the task can create it


class FabricKind(StrEnum):
    """Of a fast fabric."""

    EFA = "EFA"
    INFINIBAND = "InfiniBand"
    ROCE = "RoCE"


@dataclass(frozen=True, slots=True)
class FabricPort:
    """One port of a device in /sys/class/infiniband."""

    device: str  # e.g. ``mlx5_0``
    port: int = 1
    kind: FabricKind = FabricKind.INFINIBAND
    is_active: bool = True
    bytes_per_s: float | None = None  # None: its counters are hidden, as in some containers


@dataclass(frozen=True, slots=True)
class Fabric:
    """What the counters of a whole node, with its other jobs, showed over one span."""

    ports: tuple[FabricPort, ...] = ()  # empty: no fabric
    span_s: float = 0.0  # 0: only one sample was taken
    sent_per_s: float | None = None  # as in `Node`
    received_per_s: float | None = None
    # IP over InfiniBand, both directions: part of these two, and the ports of the fabric count it, too
    over_fabric_per_s: float | None = None


_NO_SAMPLE = Sample()
_MUCH_USED, _LITTLE_AVAILABLE = 0.5, 0.1  # of the task's limit, of the node's memory


def is_memory_short(sample: Sample) -> bool:
    """Whether memory may run out before the next sample."""
    memory, node = sample.memory, sample.node
    if memory is not None and memory.limit and memory.used > _MUCH_USED * memory.limit:
        return True
    known = node.memory_total is not None and node.memory_available is not None
    return known and (node.memory_available or 0) < _LITTLE_AVAILABLE * (node.memory_total or 0)


@dataclass(frozen=True, slots=True)
class Notice:
    """That a cloud will end a node, by what its metadata service says."""

    cloud: str = ""  # e.g. ``AWS``
    word: str = ""  # the service's own for what will happen, e.g. ``terminate``
    ends_s: float | None = None  # None: it does not say when
    seen_s: float = 0.0  # when an agent first saw it
    signal: str = ""  # that the user wants to be sent then
    signalled: int = 0  # processes, which caught it


@dataclass(frozen=True, slots=True)
class AgentReport:
    """The content of an agent's ``latest.json``."""

    # long, so before what a monitor looks for at the end of the file
    ranks: tuple[RankGroup, ...] = field(default=(), kw_only=True)
    folders: tuple[Folder, ...] = field(default=(), kw_only=True)
    fabric: Fabric | None = field(default=None, kw_only=True)
    latest: Sample = _NO_SAMPLE
    # the mean of what came before it and is not yet in the history
    recent: Sample | None = field(default=None, kw_only=True)
    started_s: float = 0.0  # the agent
    interval_s: float = 0.0  # between two reports
    ended_s: float | None = None  # when no process of the task was left, or the agent was stopped
    suspicious_log_s: float | None = None  # when a word like "error" was last appended to a log
    unavailable: tuple[str, ...] = ()  # and why, e.g. ``GPUs: no NVIDIA driver``
    is_memory_short: bool = False  # an agent that disappears now was probably killed by the OOM killer
    notice: Notice | None = None  # about the node
