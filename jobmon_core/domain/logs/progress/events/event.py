"""What can happen to the progress of a job. Times are Unix seconds.

A waiting monitor loads this module, and no other one about progress.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# noted in `WatchedJob.alerted` before jobmon cancels a stalled attempt, as the user ordered
STALL_CANCELLED: Final = "restart-stall"


class EventKind(StrEnum):
    """What can happen to the progress of a job."""

    LAUNCH_FAILED = "launch failed"  # e.g. a worker is missing
    LAUNCHED = "launched"  # all that was checked after the start was there
    NO_OUTPUT = "no output"  # logs or outputs are missing after the start
    STALLED = "stalled"
    SLOW = "slow"
    TIME_LIMIT = "time limit"  # it will not end before its time limit
    DIVERGED = "diverged"
    ERROR = "error"  # its log shows a failure, but it has not ended
    TROUBLE = "trouble"  # by what its agents measure
    MILESTONE = "milestone"
    PERIODIC = "periodic"  # how far the job is, at the period that the user wants; kept in no file
    CHECKPOINT = "checkpoint"  # one was saved
    RESTARTED = "restarted"
    RESUMED = "resumed"  # an attempt of a lineage went on from its checkpoint
    NOT_RESUMED = "not resumed"  # or it did not, or may not have
    LATE_WRITER = "late writer"  # an earlier attempt still changes a checkpoint
    UNUSUAL = "unusual"  # compared with earlier runs like it
    LONG_WAIT = "long wait"  # likewise, for its start
    TRACKER_ALERT = "tracker alert"  # one that the program sent to its tracker
    TRACKER = "tracker"  # the tracker contradicts the job
    RECOVERED = "recovered"  # from one of the `WARNINGS`


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a job's progress."""

    at_s: float
    kind: EventKind
    text: str  # one line
    task: str = ""  # its key; empty for the whole job
    ended: EventKind | None = None  # of RECOVERED: what is over; None for everything
    subject: str = ""  # which error, trouble etc., and of its recovery; e.g. the id of a pattern
    is_critical: bool = False  # the job will probably fail, or waste all its time
    advice: str = ""  # one line; empty for the usual advice about this kind
    evidence: tuple[str, ...] = ()
    title: str = ""  # without details; empty for the usual words about this kind
    is_quiet: bool = False  # only shown, without a message
    lasting_s: tuple[float, ...] = ()  # durations in its text and evidence that go on
    is_permanent: bool = False  # of TROUBLE: it cannot be over in this run

    @property
    def name(self) -> str:
        """Its stable name for programs, e.g. ``memory-leak``, ``time-limit``."""
        return self.subject if self.kind is EventKind.TROUBLE else self.kind.replace(" ", "-")

    @property
    def since_s(self) -> float:
        """Since when it lasts, else when it was noticed."""
        return self.at_s - max(self.lasting_s, default=0.0)


# These, RESUMED and recoveries from these cause a message unless they are quiet or the user turns them off;
# LAUNCHED, CHECKPOINT and MILESTONE only if `messages.also` names them.
WARNINGS = (
    EventKind.LAUNCH_FAILED,
    EventKind.NO_OUTPUT,
    EventKind.STALLED,
    EventKind.SLOW,
    EventKind.TIME_LIMIT,
    EventKind.DIVERGED,
    EventKind.ERROR,
    EventKind.TROUBLE,
    EventKind.NOT_RESUMED,
    EventKind.LATE_WRITER,
    EventKind.UNUSUAL,
    EventKind.LONG_WAIT,
    EventKind.TRACKER_ALERT,
    EventKind.TRACKER,
)


@dataclass(frozen=True, slots=True)
class Followed:
    """What a look at the logs of a job found."""

    events: tuple[Event, ...] = ()  # the latest ones, oldest first
    problem: str = ""  # why the progress of this job could not be read
    recheck_s: float | None = None  # when to look again, because its logs may show a failure
    wait_s: float | None = None  # when to look again at how long it waits
