"""Which files are evidence about a run: the one rule for everything that jobmon reads about it.

Something of the run leads to them, and they were written where and while it ran. What cannot be shown to be
the run's own is not shown as its own: silence is better than the checkpoint of a stranger.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from jobmon_core.domain.backends import Machine

_ROOT = 0  # writes for the user in a container that a daemon of root runs
# Slurm gives whole seconds, and the clock of a file server may differ from that of the controller
TOLERANCE_S = 2.0
# Slurm notes the end of a job that it kills when it begins to: until its processes are gone (`KillWait`, 30 s
# by default), they may still save what they have
KILLED_TOLERANCE_S = 60.0
# for the logs that the scheduler itself opens for a run: one that was last written before has no line of it
_LOG_TOLERANCE_S = 60.0


class Origin(StrEnum):
    """What leads from a run to a file."""

    NAMED = "named"  # the scheduler, the job configuration or an option of jobmon names it
    FOUND = "found"  # the run's log or script names it, its name has the job's number, or the kernel wrote it


@dataclass(frozen=True, slots=True)
class OwnFiles:
    """The files that a run wrote, and that one kind of source leads to. Times are Unix seconds."""

    started_s: float
    ended_s: float | None = None  # None: it has not ended, or its end is not known
    origin: Origin = Origin.NAMED
    machine: Machine = Machine.THIS
    uid: int | None = None  # of the user; None: not known
    early_s: float = TOLERANCE_S  # a file may be older than the start by so much ...
    late_s: float = TOLERANCE_S  # ... and newer than the end by so much

    @property
    def can_be_seen(self) -> bool:
        """Whether this machine can show any of them.

        If it is not known whether a job writes to file systems of this machine, only what is named counts.
        """
        if self.machine is Machine.UNKNOWN:
            return self.origin is Origin.NAMED
        return self.machine is Machine.THIS

    @property
    def since_s(self) -> float:
        """The earliest time at which one of them may have been written."""
        return self.started_s - self.early_s

    @property
    def until_s(self) -> float:
        """The latest such time."""
        if self.ended_s is None:
            return float("inf")
        return self.ended_s + self.late_s

    def include(self, modified_s: float, owner: int | None = None) -> bool:
        """Whether a file that was last written at ``modified_s`` is one of them.

        ``owner`` is its uid; None: not known. What the user names may belong to anybody.
        """
        is_of_user = self.origin is Origin.NAMED or self.uid is None or owner in (None, self.uid, _ROOT)
        return self.can_be_seen and is_of_user and self.since_s <= modified_s <= self.until_s

    def may_be_log(self, modified_s: float) -> bool:
        """Whether a log that the scheduler opens, last written at ``modified_s``, may have its lines."""
        return modified_s >= self.started_s - _LOG_TOLERANCE_S
