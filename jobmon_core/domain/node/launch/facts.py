"""What one look at a run that has just started found. None means "not known"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from jobmon_core.domain.node.launch.model import WINDOW_S
from jobmon_core.domain.node.telemetry.model import AgentReport, Folder, Worker, WorkerStatus

_GONE = (WorkerStatus.DEAD, WorkerStatus.ZOMBIE, WorkerStatus.NOT_FOUND)


class WorkerLogs(NamedTuple):
    """The worker logs that exist, of those that the user named."""

    written: int = 0  # how many are not empty
    empty: tuple[str, ...] = ()  # the paths of the empty ones
    are_counted: bool = True  # there should be one for each worker


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """All that one look at a run found; times are Unix seconds."""

    now_s: float
    started_s: float  # of the run, or its latest return from a suspension
    run_s: float  # the start of the run, which distinguishes it from other runs
    window_s: float = WINDOW_S
    has_own_window: bool = False  # the user named the window
    reports: tuple[AgentReport, ...] = ()  # the current ones of this run, one for each node
    is_complete: bool = False  # each node of the task has a report
    why_no_report: str = ""  # why there is no report, if that is known
    num_workers: int | None = None  # as the user says
    gpu_ids: tuple[int, ...] = ()  # as the user says
    step_errors: Mapping[int, str] = field(default_factory=dict)  # by rank: the line that srun printed
    worker_logs: WorkerLogs | None = None  # None if the user named none
    folder: Folder | None = None  # of outputs; None if the user named none, or it could not be looked at
    is_folder_of_node: bool = False  # a node looked at the folder, else this host did
    has_output: bool | None = None  # in any log; None without a log
    outputs: int | None = None  # the number of output files; None if the user named none
    is_at_end: bool = False  # its log says that all is done

    @property
    def age_s(self) -> float:
        """For how long it has been running."""
        return self.now_s - self.started_s

    @property
    def workers(self) -> tuple[Worker, ...]:
        """The running workers of all nodes."""
        found = (worker for report in self.reports for worker in report.latest.workers)
        return tuple(worker for worker in found if worker.status not in _GONE)

    @property
    def has_begun(self) -> bool:
        """Whether workers have certainly started, so that the others should be there too."""
        has_ranks = any(report.ranks for report in self.reports)
        logs = self.worker_logs
        has_logs = bool(logs and logs.are_counted and (logs.written or logs.empty))
        return has_ranks or len(self.workers) > 1 or has_logs
