"""How far a job is: what its logs say, how that changed over time, and what follows from it.

Times are Unix seconds, durations are seconds. None means "not known".
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, NamedTuple

COUNTERS = ("epoch", "step", "batch", "it", "%")  # units of which each may stand for many items


@dataclass(frozen=True, slots=True)
class Progress:
    """What the logs of one program say last about its progress."""

    current: float = 0.0  # finished units of the whole job
    total: float | None = None  # units of the whole job
    unit: str = "step"  # step, epoch, item, sample ...
    epoch: float | None = None  # as the log counts it
    epochs: float | None = None
    batch: float | None = None  # of the innermost counter
    batches: float | None = None
    loss: float | None = None  # the latest of training, maybe nan or inf
    learning_rate: float | None = None
    grad_norm: float | None = None
    rate_per_s: float | None = None  # as printed
    elapsed_s: float | None = None  # since the start of the program, as printed
    remaining_s: float | None = None  # of the whole job, as printed
    label: str = ""  # what the log calls the work, e.g. the description of a progress bar
    format: str = ""  # the id of the format that matched
    end_marker: str = ""  # e.g. "Training completed"; it proves nothing
    run: int = 1  # within the file: several runs may append to one
    # what counters say that contradict each other, e.g. "120 of 640 steps", "3 of 20 epochs"
    unclear: tuple[str, ...] = ()
    # by name: those of the user, and step_time_s, latency_s and tokens_per_s as printed
    metrics: dict[str, float] = field(default_factory=dict)

    @property
    def fraction(self) -> float | None:
        """The finished share of the whole job, from 0 to 1."""
        return min(1.0, max(0.0, self.current / self.total)) if self.total else None

    def at_speed_s(self, average_per_s: float | None = None) -> float | None:
        """Return how long the rest takes at the speed of the log, else at this one."""
        speed = self.rate_per_s or average_per_s
        if self.total and speed and self.current < self.total:
            return (self.total - self.current) / speed
        return None


class Sample(NamedTuple):
    """The progress at one moment."""

    at_s: float  # by the log, else when jobmon read it
    current: float
    loss: float | None = None
    grad_norm: float | None = None


@dataclass(frozen=True, slots=True)
class History:
    """Samples of one run of a program, oldest first; their number is bounded."""

    started_s: float | None = None
    samples: tuple[Sample, ...] = ()
    longest_pause_s: float = 0.0  # between two samples, before thinning
    median_pause_s: float = 0.0


class Confidence(StrEnum):
    """What an estimate is worth."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Estimate:
    """When a job will end, and how fast it is."""

    rate_per_s: float | None = None  # recently
    average_rate_per_s: float | None = None  # since the start
    remaining_s: float | None = None
    shortest_s: float | None = None  # the range of `remaining_s`
    longest_s: float | None = None
    confidence: Confidence = Confidence.LOW

    def without_end(self) -> Estimate:
        """Return the rates alone."""
        return replace(self, remaining_s=None, shortest_s=None, longest_s=None)


@dataclass(frozen=True, slots=True)
class LimitOutlook:
    """Whether a job will end before its time limit does."""

    fits: bool | None  # None: too close to say
    ends_s: float
    time_left_s: float  # until the limit
    sufficient_time: str  # for --time, e.g. "5:30:00" or "1-06:00"


@dataclass(frozen=True, slots=True)
class KnownProblems:
    """The problems of a run that were reported or begin to show: each is reported once."""

    stalled_since_s: float | None = None  # the last progress before the stall
    stall_is_failure: bool = False  # it lasts longer than the user allows
    usual_pace: float | None = None  # seconds per unit, of a run that was reported as slow
    slow_since_s: float | None = None  # a slowdown that is too short to be reported
    slow_bound: float | None = None  # the seconds per unit that it exceeds
    too_late: bool = False  # it will not end before its time limit
    late_since_s: float | None = None  # likewise, for too short a time to be reported
    diverged: bool = False
    loss_bound: float | None = None  # it has recovered when the loss is below
    grad_norm_bound: float | None = None
    run_started_s: float | None = None  # the time of the run's first sample
    milestone: int = 0  # the highest one reached, in %
    overdue_start_s: float | None = None  # of files of version 0.4: the start that was reported as overdue


@dataclass(frozen=True, slots=True)
class WorkerProgress:
    """The progress of one worker of a task, by its own log."""

    progress: Progress | None = None
    written_s: float = 0.0  # the last write
    first: Sample | None = None  # of its run


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """The progress of one task of a job."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"known_problems": "health"}

    progress: Progress | None = None
    history: History = History()
    logs: tuple[str, ...] = ()  # the paths that were read
    workers: dict[str, WorkerProgress] = field(default_factory=dict)  # by the name of the log
    known_problems: KnownProblems = KnownProblems()
    has_output: bool = False  # the latest run has written to its logs
