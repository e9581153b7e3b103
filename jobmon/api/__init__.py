"""jobmon for Python programs: a notebook, a script, or a training itself. See docs/python-api.md.

Each function does what the command of the same name does; `jobs` does what `jobmon status --all` does. The
records that they return are frozen. Nothing is printed; what a command would print on stderr is logged by the
logger ``jobmon``. Errors are `JobmonError` and its subclasses, with the texts of the command line. No
function ends the process, forks it or installs a signal handler, and all may be called from any thread.

A job is named by its id (``8123``, ``"8123_7"``), by its name (the newest job of that name), or by
``"latest"``. Times are Unix seconds, durations are seconds; None means "not known" unless a field says
otherwise.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobmon.api.messages import mark, notify
    from jobmon.api.records import (
        Attempt,
        Evidence,
        Explanation,
        Job,
        JobResult,
        Problem,
        Progress,
        Restart,
        Sent,
        WaitResult,
    )
    from jobmon.api.submitting import attempts, restart, submit, watch
    from jobmon.api.watched import diagnose, health, jobs, progress, status, wait
    from jobmon_core.app.live.tasks import JobPhase
    from jobmon_core.app.wait import Result
    from jobmon_core.domain.channels import Level
    from jobmon_core.domain.errors import (
        AlreadyReported,
        AlreadyWatched,
        CommandBusy,
        ConfigInvalid,
        JobmonError,
        SchedulerMissing,
        SchedulerRejected,
        SchedulerUnavailable,
        StateUnreadable,
        StorageFailed,
        UnknownGroup,
        UnknownJob,
    )
    from jobmon_core.domain.logs.progress.model import Confidence
    from jobmon_core.domain.node.health.model import HealthReport
    from jobmon_core.domain.slurm.states import Outcome
    from jobmon_core.lifecycle.health import Health as MonitorState

__all__ = [
    "AlreadyReported",
    "AlreadyWatched",
    "Attempt",
    "CommandBusy",
    "Confidence",
    "ConfigInvalid",
    "Evidence",
    "Explanation",
    "HealthReport",
    "Job",
    "JobPhase",
    "JobResult",
    "JobmonError",
    "Level",
    "MonitorState",
    "Outcome",
    "Problem",
    "Progress",
    "Restart",
    "Result",
    "SchedulerMissing",
    "SchedulerRejected",
    "SchedulerUnavailable",
    "Sent",
    "StateUnreadable",
    "StorageFailed",
    "UnknownGroup",
    "UnknownJob",
    "WaitResult",
    "attempts",
    "diagnose",
    "health",
    "jobs",
    "mark",
    "notify",
    "progress",
    "restart",
    "status",
    "submit",
    "wait",
    "watch",
]

# module -> what it defines; imported when it is first used, so that a training which only sends messages does
# not load what explains failures
_DEFINED_IN = {
    "jobmon.api.watched": "diagnose health jobs progress status wait",
    "jobmon.api.messages": "mark notify",
    "jobmon.api.records": "Attempt Evidence Explanation Job JobResult Problem Progress Restart Sent "
    "WaitResult",
    "jobmon.api.submitting": "attempts restart submit watch",
    "jobmon_core.app.live.tasks": "JobPhase",
    "jobmon_core.app.wait": "Result",
    "jobmon_core.domain.channels": "Level",
    "jobmon_core.domain.errors": "AlreadyReported AlreadyWatched CommandBusy ConfigInvalid JobmonError "
    "SchedulerMissing SchedulerRejected SchedulerUnavailable StateUnreadable StorageFailed UnknownGroup "
    "UnknownJob",
    "jobmon_core.domain.node.health.model": "HealthReport",
    "jobmon_core.domain.logs.progress.model": "Confidence",
    "jobmon_core.domain.slurm.states": "Outcome",
    "jobmon_core.lifecycle.health": "MonitorState",
}
_RENAMED = {"MonitorState": "Health"}  # name here -> name in the module that defines it


def __getattr__(name: str) -> object:
    """Import what a caller uses."""
    for module, names in _DEFINED_IN.items():
        if name in names.split():
            found: object = getattr(importlib.import_module(module), _RENAMED.get(name, name))
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names."""
    return list(__all__)
