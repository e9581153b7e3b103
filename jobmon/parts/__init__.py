"""Parts for a monitor of your own: workers, logs, and the time that is left.

They are for a program that watches its own processes in the foreground. `jobmon.api` follows whole jobs, and
needs none of them.
"""

from __future__ import annotations

from jobmon.parts.eta import Eta, ProgressEstimator, Slowdown
from jobmon.parts.logs import LogError, LogParser
from jobmon.parts.processes import LaunchCheck, ProcessMonitor, Worker
from jobmon_core.domain.progress.model import Confidence
from jobmon_core.domain.telemetry.model import WorkerStatus

__all__ = [
    "Confidence",
    "Eta",
    "LaunchCheck",
    "LogError",
    "LogParser",
    "ProcessMonitor",
    "ProgressEstimator",
    "Slowdown",
    "Worker",
    "WorkerStatus",
]
