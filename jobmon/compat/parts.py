"""Parts for a monitor of your own: workers, logs, files, and the time that is left.

They are for a program that watches its own processes in the foreground; `jobmon.api` follows whole jobs.
"""

from __future__ import annotations

from jobmon.compat.eta import Eta, ProgressEstimator, Slowdown
from jobmon.compat.files import CheckpointStatus, DiskSpace, FileMonitor, OutputStatus
from jobmon.compat.logs import LogParser
from jobmon.compat.processes import LaunchCheck, ProcessMonitor, Worker
from jobmon_core.app.live.log_errors import LogError
from jobmon_core.domain.artifacts.model import FileCheck, FileVerdict
from jobmon_core.domain.logs.progress.model import Confidence
from jobmon_core.domain.node.telemetry.model import WorkerStatus

__all__ = [
    "CheckpointStatus",
    "Confidence",
    "DiskSpace",
    "Eta",
    "FileCheck",
    "FileMonitor",
    "FileVerdict",
    "LaunchCheck",
    "LogError",
    "LogParser",
    "OutputStatus",
    "ProcessMonitor",
    "ProgressEstimator",
    "Slowdown",
    "Worker",
    "WorkerStatus",
]
