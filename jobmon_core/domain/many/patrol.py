"""What a patrol sees of each job, what has changed since the last one, and when an installed patrol runs.

Times are Unix seconds. None means "not known".
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from jobmon_core.domain.errors import UsageError
from jobmon_core.domain.finding import Finding, Severity, worst
from jobmon_core.domain.humanize import count, duration, number, plural
from jobmon_core.domain.logs.diagnosis.model import Quote
from jobmon_core.domain.many.autostart.command import RegularCommand


@dataclass(frozen=True, slots=True)
class SeenJob:
    """What a patrol saw of one job."""

    id: str  # its state id
    ref: str  # its job id, e.g. ``12_3``
    name: str = ""
    group: str = ""  # each job counts in one
    state: str = ""  # Slurm's; of an array, how many tasks are in each state
    outcome: str = ""
    reason: str = ""  # beside its state
    current: float | None = None  # of a job with one task
    unit: str = ""
    progress: str = ""  # e.g. "67.3% (67,300/100,000 steps), 1h 13m left"
    outputs: int | None = None  # number of files
    expected_outputs: int | None = None
    checkpoints: int | None = None
    newest_checkpoint: str = ""
    markers: dict[str, bool] = field(default_factory=dict)  # e.g. ``marker /a/DONE`` -> whether it is there
    results: tuple[Quote, ...] = ()
    problems: tuple[Finding, ...] = ()
    is_over: bool = False  # it ended, or is no longer watched
    is_unwatched: bool = False
    # since the last patrol that saw it
    changes: tuple[str, ...] = ()
    new_results: tuple[Quote, ...] = ()  # those that say something else than before
    is_new: bool = False

    @property
    def label(self) -> str:
        """How a line names the job, e.g. ``8123 train``."""
        return f"{self.ref} {self.name}".rstrip()

    @property
    def has_news(self) -> bool:
        """Whether anything has changed."""
        return bool(self.changes or self.new_results)

    @property
    def severity(self) -> Severity:
        """How bad its worst problem is."""
        return worst(self.problems)


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
    """By reader: a channel still gets what a terminal has already shown."""

    readers: dict[str, Memory] = field(default_factory=dict)  # by channel, the log, or "" for the terminal


@dataclass(frozen=True, slots=True)
class Patrol:
    """One patrol over jobs."""

    at_s: float
    since_s: float | None = None  # the last patrol over any of these jobs
    jobs: tuple[SeenJob, ...] = ()  # the worst first, then those with news, then by id
    problems: tuple[Finding, ...] = ()  # what is wrong and concerns no single job
    is_done: bool = False
    failed_before: int = 0  # other failed jobs that `jobmon status` lists

    @property
    def severity(self) -> Severity:
        """How bad the worst problem is."""
        return max([worst(self.problems), *(job.severity for job in self.jobs)])

    @property
    def with_news(self) -> tuple[SeenJob, ...]:
        """The jobs of which anything has changed."""
        return tuple(job for job in self.jobs if job.has_news)


_DIGEST_CHARS = 16
OUTCOME = "outcome"  # the kind of a problem that the state of the job shows, too
PROBLEM = "jobmon"  # that of one that concerns no single job


def compare(
    seen: Iterable[SeenJob],
    problems: Iterable[Finding],
    memory: Memory,
    now_s: float,
    *,
    names_jobs: bool = False,
    is_done: bool = False,
    failed_before: int = 0,
) -> Patrol:
    """Return the patrol over the jobs ``seen``, sorted by id; ``names_jobs``: the user named them."""
    jobs = [_compared(job, memory.jobs.get(job.id)) for job in seen]
    times = [memory.jobs[job.id].at_s for job in jobs if job.id in memory.jobs]
    since_s = max(times, default=0.0) if names_jobs else memory.at_s
    # sorted() keeps the order of jobs that are equally bad
    ranked = sorted(jobs, key=lambda job: (-job.severity, not job.has_news))
    return Patrol(now_s, since_s or None, tuple(ranked), tuple(problems), is_done, failed_before)


def remembered(memory: Memory, patrol: Patrol, *, names_jobs: bool = False) -> Memory:
    """One over named jobs forgets nothing about the others."""
    seen = {job.id: _remembered(job, patrol.at_s) for job in patrol.jobs}
    if names_jobs:
        return replace(memory, jobs={**memory.jobs, **seen})
    return Memory(patrol.at_s, seen)


def _remembered(seen: SeenJob, at_s: float) -> Remembered:
    return Remembered(
        at_s,
        seen.state,
        seen.current,
        seen.unit,
        seen.outputs,
        seen.newest_checkpoint,
        tuple(sign for sign, exists in seen.markers.items() if exists),
        {quote.name: _digest(quote) for quote in seen.results},
        {problem.id: problem.text for problem in seen.problems},
        seen.is_over,
    )


def _compared(seen: SeenJob, before: Remembered | None) -> SeenJob:
    known = before.results if before else {}
    results = tuple(quote for quote in seen.results if known.get(quote.name) != _digest(quote))
    changes = _first_sight(seen) if before is None else _changes(seen, before)
    return replace(seen, changes=tuple(changes), new_results=results, is_new=before is None)


def _first_sight(seen: SeenJob) -> Iterator[str]:
    yield _with_reason(seen.state, seen)
    if seen.progress and not seen.is_over:
        yield seen.progress
    if seen.outputs:
        yield f"outputs: {_outputs(seen)}"
    if seen.newest_checkpoint:
        yield f"{seen.newest_checkpoint} is the newest of {count(seen.checkpoints or 1, 'checkpoint')}"
    yield from (f"{sign} is there" for sign, exists in seen.markers.items() if exists)
    yield from (problem.text for problem in seen.problems if problem.id != OUTCOME)


def _changes(seen: SeenJob, before: Remembered) -> Iterator[str]:
    if seen.state != before.state:
        yield f"{before.state} -> {_with_reason(seen.state, seen)}"
    elif seen.is_unwatched and not before.is_over:
        yield "no longer watched"
    else:
        yield from _outcome(seen, before)
    yield from _progress(seen, before)
    yield from _files(seen, before)
    known = (OUTCOME, *before.problems)
    yield from (problem.text for problem in seen.problems if problem.id not in known)
    if seen.is_over and not before.is_over:
        return  # of a job that ends, nobody needs to know that it is no longer slow
    now = {problem.id for problem in seen.problems}
    yield from (f"no longer: {text}" for kind, text in before.problems.items() if kind not in now)


def _files(seen: SeenJob, before: Remembered) -> Iterator[str]:
    if seen.newest_checkpoint and seen.newest_checkpoint != before.newest_checkpoint:
        yield f"{seen.newest_checkpoint} saved"
    if seen.outputs is not None and seen.outputs != (before.outputs or 0):
        yield f"outputs: {before.outputs or 0} -> {_outputs(seen)}"
    for sign, exists in seen.markers.items():
        if exists != (sign in before.markers):
            yield f"{sign} {'appeared' if exists else 'is gone'}"


def _outcome(seen: SeenJob, before: Remembered) -> Iterator[str]:
    """Its state may have shown only that it ended, or its cause was found since."""
    for problem in seen.problems:
        if problem.id == OUTCOME and problem.text != before.problems.get(OUTCOME):
            yield problem.text


def _progress(seen: SeenJob, before: Remembered) -> Iterator[str]:
    if seen.current is None or seen.current == before.current:
        return
    if before.current is None or seen.unit != before.unit:
        yield seen.progress
    elif seen.current < before.current:
        done = f"{number(before.current)} -> {number(seen.current)} {plural(seen.unit)}".rstrip()
        yield f"started again: {done}, {seen.progress}"
    else:
        done = number(seen.current - before.current)
        unit = seen.unit if done == "1" else plural(seen.unit)
        yield f"+{done} {unit}".rstrip() + f": {seen.progress}"


def _outputs(seen: SeenJob) -> str:
    """Return e.g. ``6 of 8 files``."""
    if seen.expected_outputs is None:
        return count(seen.outputs or 0, "file")
    return f"{seen.outputs or 0:,} of {count(seen.expected_outputs, 'file')}"


def _with_reason(state: str, seen: SeenJob) -> str:
    if seen.reason:
        return f"{state}: {seen.reason}"
    return state


def _digest(quote: Quote) -> str:
    return hashlib.sha256(quote.text.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGEST_CHARS]


DEFAULT_MINUTES = 30
_HOUR, _DAY = 60, 24 * 60
_MINUTE = 3  # past the hour: at its beginning, everybody's entries run
_MORNING = 8  # the hour of a daily patrol
_MINUTES = tuple(minutes for minutes in range(5, _HOUR) if _HOUR % minutes == 0)
_HOURS = tuple(hours for hours in range(1, 24) if 24 % hours == 0)


def patrol_command(every_minutes: float, channel: str) -> RegularCommand:
    """Return the command that an installed patrol runs; with a channel, it also sends its lines there.

    Raise UsageError if cron cannot repeat the interval evenly, or it is under five minutes or over a day.
    """
    cron, calendar = _times(every_minutes)
    to = ("--to", channel) if channel else ()
    return RegularCommand(
        "jobmon patrol",
        ("patrol", "--unattended", *to),
        cron,
        calendar,
        "look at the jobs that jobmon watches",
        marker_suffix="-patrol",
    )


def _times(minutes: float) -> tuple[str, str]:
    if minutes in _MINUTES:
        each = ",".join(str(minute) for minute in range(_MINUTE, _HOUR, int(minutes)))
        return f"{each} * * * *", f"*:{each}"
    hours, rest = int(minutes // _HOUR), minutes % _HOUR
    if minutes == _DAY:
        return f"{_MINUTE} {_MORNING} * * *", f"{_MORNING}:{_MINUTE}"
    if rest == 0 and hours in _HOURS:
        hour = "*" if hours == 1 else f"*/{hours}"
        return f"{_MINUTE} {hour} * * *", f"{'*' if hours == 1 else f'0/{hours}'}:{_MINUTE}"
    known = ", ".join([*(f"{each}m" for each in _MINUTES), *(f"{each}h" for each in _HOURS), "1d"])
    raise UsageError(f"a patrol can run every {known}, but not every {duration(60 * minutes)}")
