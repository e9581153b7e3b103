"""What a patrol sees of each job, what is wrong with it, and what it remembers for the next one.

Times are Unix seconds. None means "not known".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from jobmon_core.domain.logs.diagnosis.model import Quote


class Severity(IntEnum):
    """How bad a problem is; its value is the exit code of an attended patrol with no worse one."""

    WELL = 0
    WARNING = 1  # look at it: a stall, a dead monitor, a message that was not delivered
    CRITICAL = 2  # act now: a job failed, or its outcome is unknown, or it will probably fail


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong now."""

    text: str  # one line, without the job
    severity: Severity = Severity.WARNING
    kind: str = ""  # what identifies it from one patrol to the next; its text may hold times


@dataclass(frozen=True, slots=True)
class SeenJob:
    """What a patrol saw of one job."""

    id: str  # its state id
    ref: str  # its job id, e.g. ``12_3``
    name: str = ""
    group: str = ""  # e.g. "running", "failed": each job counts in one
    state: str = ""  # Slurm's; of an array, how many tasks are in each state
    outcome: str = ""  # empty until it is known
    reason: str = ""  # why it is pending, or how it ended, if there is more to say than its state
    current: float | None = None  # finished units of a job with one task
    unit: str = ""
    progress: str = ""  # how far it is, e.g. "67.3% (67,300/100,000 steps), 1h 13m left"
    outputs: int | None = None  # number of files
    expected_outputs: int | None = None
    checkpoints: int | None = None
    newest_checkpoint: str = ""
    markers: dict[str, bool] = field(default_factory=dict)  # e.g. ``marker /a/DONE`` -> whether it is there
    results: tuple[Quote, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_over: bool = False  # it ended, or is no longer watched
    is_unwatched: bool = False  # the user stopped the monitoring

    @property
    def label(self) -> str:
        """How a line names the job, e.g. ``8123 train``."""
        return f"{self.ref} {self.name}".rstrip()


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the next patrol needs of a job in order to say what has changed."""

    at_s: float = 0.0
    state: str = ""
    current: float | None = None
    unit: str = ""
    outputs: int | None = None
    newest_checkpoint: str = ""
    markers: tuple[str, ...] = ()  # those that were there
    results: dict[str, str] = field(default_factory=dict)  # name of the file -> digest of what it said
    problems: dict[str, str] = field(default_factory=dict)  # kind -> text
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """What the last patrol saw."""

    at_s: float = 0.0  # of the last one over everything that was watched; 0 if there was none
    jobs: dict[str, Remembered] = field(default_factory=dict)  # by state id


@dataclass(frozen=True, slots=True)
class Memories:
    """The memory of each place that shows patrols: a channel still gets what a terminal has already shown."""

    readers: dict[str, Memory] = field(default_factory=dict)  # by channel, the log, or "" for the terminal


@dataclass(frozen=True, slots=True)
class PatrolledJob:
    """A job, and what has changed since the last patrol that saw it."""

    seen: SeenJob
    changes: tuple[str, ...] = ()
    new_results: tuple[Quote, ...] = ()  # those that say something else than before
    is_new: bool = False  # no patrol has seen it before

    @property
    def has_news(self) -> bool:
        """Whether anything has changed."""
        return bool(self.changes or self.new_results)

    @property
    def severity(self) -> Severity:
        """How bad its worst problem is."""
        return worst(self.seen.problems)


@dataclass(frozen=True, slots=True)
class Patrol:
    """One patrol over jobs."""

    at_s: float
    since_s: float | None = None  # the last patrol over any of these jobs; None if there was none
    jobs: tuple[PatrolledJob, ...] = ()  # the worst first, then those with news, then by id
    problems: tuple[Problem, ...] = ()  # what is wrong and concerns no single job
    is_done: bool = False  # nothing is watched any more
    failed_before: int = 0  # other failed jobs that `jobmon status` lists

    @property
    def severity(self) -> Severity:
        """How bad the worst problem is."""
        return max([worst(self.problems), *(job.severity for job in self.jobs)])

    @property
    def with_news(self) -> tuple[PatrolledJob, ...]:
        """The jobs of which anything has changed."""
        return tuple(job for job in self.jobs if job.has_news)


def worst(problems: tuple[Problem, ...]) -> Severity:
    """Return how bad the worst of some problems is."""
    return max((problem.severity for problem in problems), default=Severity.WELL)
