"""What is checked after the start of a run, and how that came out. Times are Unix seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.node.telemetry.model import GONE, AgentReport, Folder, Worker

WINDOW_S = 60.0  # unless the user names another `launch_timeout`

# ids of the checks, stable in `--json`
WORKERS, GPUS = "workers", "gpus"
GPU_SHARING, GPU_LOAD = "gpu sharing", "gpu load"
WORKER_LOGS, EMPTY_LOGS = "worker logs", "empty logs"
OUTPUT_FOLDER, FIRST_OUTPUT, OUTPUT_FILES = "output folder", "first output", "output files"


@dataclass(frozen=True, slots=True)
class LaunchState:
    """What is known about the launch of a task's latest run, from look to look."""

    started_s: float = 0.0  # of the run
    first_look_s: float = 0.0
    window_s: float = WINDOW_S
    verdict: Severity = Severity.PENDING
    items: tuple[Finding, ...] = ()  # the checks
    failing_since_s: float | None = None  # since when a check has failed at each look
    reported: EventKind | None = None  # the event about a failure; None once it is over
    gpu_peaks: dict[str, float] = field(default_factory=dict)  # highest utilisation in %, by node and index

    @property
    def is_open(self) -> bool:
        """Whether to go on looking."""
        return self.verdict is Severity.PENDING or self.reported is not None

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """Return the checks that came out like this."""
        return tuple(item for item in self.items if item.severity is severity)


class WorkerLogs(NamedTuple):
    """The logs that exist, of those that the user named."""

    written: int = 0  # not empty
    empty: tuple[str, ...] = ()
    are_counted: bool = True  # there should be one for each worker


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """What one look at a run that has just started found. None means "not known"."""

    now_s: float
    started_s: float  # of the run, or its latest return from a suspension
    run_s: float  # which distinguishes the run
    window_s: float = WINDOW_S
    has_own_window: bool = False  # the user named the window
    reports: tuple[AgentReport, ...] = ()  # current ones of this run, one for each node
    is_complete: bool = False  # each node has a report
    why_no_report: str = ""
    num_workers: int | None = None  # as the user says
    gpu_ids: tuple[int, ...] = ()  # as the user says
    step_errors: Mapping[int, str] = field(default_factory=dict)  # by rank: the line that srun printed
    worker_logs: WorkerLogs | None = None  # None if the user named none
    folder: Folder | None = None  # of outputs; None if the user named none, or it could not be looked at
    is_folder_of_node: bool = False  # a node looked at it, else this host did
    has_output: bool | None = None  # in any log; None without a log
    outputs: int | None = None  # how many files; None if the user named none
    is_at_end: bool = False  # by its log

    @property
    def age_s(self) -> float:
        """For how long it has run."""
        return self.now_s - self.started_s

    @property
    def workers(self) -> tuple[Worker, ...]:
        """Those that run, on all nodes."""
        found = (worker for report in self.reports for worker in report.latest.workers)
        return tuple(worker for worker in found if worker.status not in GONE)

    @property
    def has_begun(self) -> bool:
        """Whether workers have certainly started, so that the others should be there too."""
        has_ranks = any(report.ranks for report in self.reports)
        logs = self.worker_logs
        has_logs = bool(logs and logs.are_counted and (logs.written or logs.empty))
        return has_ranks or len(self.workers) > 1 or has_logs

    @property
    def may_be_preparing(self) -> bool:
        """Whether it may be too early to miss workers."""
        return not (self.has_own_window or self.has_begun)
