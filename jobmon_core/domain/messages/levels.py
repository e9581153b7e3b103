"""How urgent the message about an event of a running job is."""

from __future__ import annotations

from jobmon_core.domain.channels import Level
from jobmon_core.domain.logs.progress.events.event import Event, EventKind

_LEVELS = {
    EventKind.LAUNCH_FAILED: Level.CRITICAL,
    EventKind.LATE_WRITER: Level.CRITICAL,
    EventKind.LAUNCHED: Level.INFO,
    EventKind.RESUMED: Level.INFO,
    EventKind.CHECKPOINT: Level.INFO,
    EventKind.RESTARTED: Level.INFO,
    EventKind.RECOVERED: Level.INFO,
    EventKind.MILESTONE: Level.PROGRESS,
}
# the verdicts of agents that report a crash, no memory or no room; the job may survive the other ones
_CRITICAL_VERDICTS = (
    "dead-worker",
    "oom-kill",
    "disk-full",
    "gpu-lost",
    "gpu-error",
    "gpu-memory-error",
)
_DISK_FULL = "disk_full"  # how the ids of the patterns for it begin


def level_of(event: Event) -> Level:
    """Return the level of an event: `Level.WARNING` unless it is known to be more or less urgent.

    Stalls, slowdowns, idle GPUs and high memory are warnings, whatever they cost: the job may go on.
    """
    if event.kind is EventKind.TROUBLE:
        is_critical = event.is_critical and event.subject in _CRITICAL_VERDICTS
    elif event.kind is EventKind.ERROR:
        is_critical = event.is_critical or event.subject.startswith(_DISK_FULL)
    elif event.kind is EventKind.NOT_RESUMED:
        is_critical = event.is_critical
    else:
        return _LEVELS.get(event.kind, Level.WARNING)
    return Level.CRITICAL if is_critical else Level.WARNING
