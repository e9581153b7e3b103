"""The health report of a job. Times are Unix seconds, sizes bytes, percentages 0 to 100; None: not known."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from jobmon_core.domain.artifacts.disk import Disk
from jobmon_core.domain.artifacts.model import Checkpoints
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.logs.progress.model import Estimate, Progress


@dataclass(frozen=True, slots=True)
class ClusterResources:
    """GPUs and CPUs of a whole cluster as its own scheduler counts them, e.g. Ray's ``GPU`` and ``CPU``.

    A held GPU is one that a task or actor asked for; it may still be idle.
    """

    gpus: float | None = None
    gpus_held: float | None = None
    cpus: float | None = None
    cpus_held: float | None = None
    waiting: tuple[str, ...] = ()  # e.g. "{'GPU': 4.0}: 2+ pending tasks"


class Stage(StrEnum):
    """Where a job is in its life."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDING = "ending"  # how it ended is not known yet
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # it ended, and no source shows how
    UNWATCHED = "unwatched"  # the user stopped the monitoring


@dataclass(frozen=True, slots=True)
class GpuHealth:
    """The GPUs that a job holds."""

    allocated: int | None = None
    used: int | None = None  # that compute; without a known utilisation, on which a process of the job runs
    idle: tuple[str, ...] = ()  # e.g. ``GPU 2 of n17``
    utilizations: tuple[float | None, ...] = ()  # over the span below if it is known
    span_s: float | None = None  # None: the latest figures

    @property
    def mean_percent(self) -> float | None:
        """Of those that are known."""
        known = [each for each in self.utilizations if each is not None]
        if known:
            return sum(known) / len(known)
        return None


class NetworkState(StrEnum):
    """The values are stable in ``--json``."""

    OK = "OK"
    DEGRADED = "DEGRADED"  # some traffic, nodes or cards are slower than the network allows
    FALLBACK = "FALLBACK"  # TCP sockets, although a fast fabric is there
    UNKNOWN = "UNKNOWN"
    NOT_APPLICABLE = "NOT APPLICABLE"  # nothing leaves the node, or the job has no GPUs


_SEVERITIES = {
    NetworkState.OK: Severity.INFO,
    NetworkState.DEGRADED: Severity.WARNING,
    NetworkState.FALLBACK: Severity.WARNING,
}


def network_finding(
    state: NetworkState, transport: str = "", text: str = "", evidence: tuple[str, ...] = (), advice: str = ""
) -> Finding:
    """The title of the finding is the transport, e.g. ``EFA``, or empty if not known."""
    return Finding(_SEVERITIES.get(state, Severity.UNKNOWN), text, advice, evidence, state, transport)


_NO_GPUS = GpuHealth()
_NO_NETWORK = network_finding(NetworkState.UNKNOWN)
_NO_ESTIMATE = Estimate()


@dataclass(frozen=True, slots=True)
class HealthReport:
    """Whether a job is healthy, why, and the figures."""

    at_s: float
    ref: str = ""  # e.g. ``12_3``; empty for pods without a job
    name: str = ""
    state: str = ""  # in the words of its scheduler
    stage: Stage = Stage.RUNNING
    healthy: bool | None = None  # None: nothing is known to be wrong, but nothing shows that it works
    why: str = ""
    findings: tuple[Finding, ...] = ()  # those of triage first, the worst at the top
    elapsed_s: float | None = None
    progress: Progress | None = None
    estimate: Estimate = _NO_ESTIMATE
    gpus: GpuHealth = _NO_GPUS
    network: Finding = _NO_NETWORK
    cluster: ClusterResources | None = None  # of Ray
    checkpoints: Checkpoints | None = None  # the newest is one that a training can resume from, if any
    disks: dict[str, Disk] = field(default_factory=dict)  # by a folder on them
    errors: tuple[str, ...] = ()  # the latest lines of its logs that match a failure
    not_seen: tuple[str, ...] = ()  # and why

    @property
    def wrong(self) -> tuple[Finding, ...]:
        """What makes a job unhealthy."""
        return tuple(each for each in self.findings if each.severity > Severity.INFO)

    @property
    def issues(self) -> tuple[str, ...]:
        """What is wrong."""
        return tuple(each.sentence for each in self.wrong)

    @property
    def advice(self) -> tuple[str, ...]:
        """One for each issue; may be empty."""
        return tuple(each.advice for each in self.wrong)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing, and no issue."""
        return tuple(each.sentence for each in self.findings if each.severity is Severity.INFO)
