"""What the functions of `jobmon.api` take and return. Later versions may add fields, and remove none."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from jobmon_core.domain.redaction import redacted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from _typeshed import DataclassInstance

    from jobmon_core.app.diagnose import Report
    from jobmon_core.app.live.tasks import JobPhase
    from jobmon_core.app.wait import Result
    from jobmon_core.domain.logs.progress.model import Confidence
    from jobmon_core.domain.slurm.states import Outcome
    from jobmon_core.lifecycle.health import Health


JobName: TypeAlias = int | str  # an id, a name, or "latest"
FileName: TypeAlias = "str | os.PathLike[str]"

LOG = logging.getLogger("jobmon")
LOG.addHandler(logging.NullHandler())  # else Python prints warnings on stderr if no logging is set up


def tell(text: str) -> None:
    """Log what a command would print on stderr, without secrets."""
    LOG.info("%s", redacted(text))


def absolute(path: FileName | None) -> str:
    """Return the absolute path of a file; empty without one."""
    return os.path.abspath(path) if path is not None else ""  # noqa: PTH100 - a text, perhaps with ``%`` patterns


def file_names(names: FileName | Sequence[FileName]) -> tuple[str, ...]:
    """Return one file name, or several, as texts."""
    if isinstance(names, str | os.PathLike):
        return (os.fspath(names),)
    return tuple(os.fspath(name) for name in names)


def options(**given: object) -> list[str]:
    """Return options of a command: those that have a value, which may be True for one that takes none."""
    named = {f"--{name.replace('_', '-')}": value for name, value in given.items() if value}
    return [name if value is True else f"{name}={value}" for name, value in named.items()]


def words(arguments: tuple[JobName | Path, ...]) -> list[str]:
    """Return arguments as the command line has them."""
    return [os.fspath(each) if isinstance(each, os.PathLike) else str(each) for each in arguments]


R = TypeVar("R", bound="DataclassInstance")


def record_from(kind: type[R], source: object, **given: Any) -> R:  # noqa: ANN401 - fields of any type
    """Return a record of ``kind`` with the fields that are given, and the others as ``source`` has them."""
    others = {each.name: getattr(source, each.name) for each in fields(kind) if each.name not in given}
    return kind(**others, **given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A watched job, as jobmon's own files show it; the scheduler is not asked."""

    job_id: str  # e.g. 8123, or 8123_7 if only this task is watched
    name: str = ""
    state: str = "UNKNOWN"  # as Slurm writes it; of an array with the number of its tasks in each state
    phase: JobPhase | None = None  # None if it is pending, cancelled, unknown or not watched any more
    outcome: Outcome | None = None  # None until it is over
    exit_code: int | None = None
    signal: int | None = None
    cause: str = ""  # why it failed, in a few words
    doubt: str = ""  # why its success is doubtful, e.g. its log ends in a failure
    pending_reason: str = ""  # as Slurm writes it
    monitor: Health
    backend: str = ""
    cluster: str = ""
    partition: str = ""
    elapsed_s: float | None = None
    limit_s: int | None = None
    restarts: int = 0
    as_of_s: float | None = None  # when the scheduler last answered about it
    stale_since_s: float | None = None  # since when the scheduler has not answered
    undelivered: int = 0  # messages about it that are not sent yet, or were given up
    tasks: tuple[str, ...] = ()  # the ids of its tasks that jobmon has seen; of a simple job, its own
    stdout: str = ""  # the path of its log; of an array a pattern, with ``%a`` for the task
    stderr: str = ""  # likewise

    @property
    def is_over(self) -> bool:
        """Whether it has ended and has an outcome, which may be UNKNOWN."""
        return self.outcome is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """When jobmon submits a job again after a failure, and how: the keys of ``restart`` in ``jobmon.yaml``.

    It takes the place of what that file says. None: the default, see docs/restarts.md.
    """

    mode: str = "on"  # "observe" only says what it would have done
    on: Sequence[str] = ()  # causes or budgets, e.g. ["preempted", "node"]; empty: all that the rules restart
    max: Mapping[str, int] | None = None  # restarts by budget
    max_restarts: int | None = None  # in all
    delay: Sequence[float] | None = None  # before the first restart, and at most; seconds
    resume_arg: str = ""  # words for the script from the second attempt on; ``{path}`` is the checkpoint
    never_on_exit: Sequence[int] | None = None  # exit codes
    again_on_exit: Sequence[int] | None = None
    grow: Mapping[str, float] | None = None  # factors for "memory" and "time", after a proven lack of it
    checkpoint_dir: str = ""  # where the job saves; by default as the job configuration or its log says


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One submission of a job that is restarted."""

    number: int  # from 0
    job_id: str
    cause: str = ""  # of its end: the id of a failure pattern, or of a cause of the scheduler
    verdict: str = ""  # what followed its end: finished, restart, stop or ask; empty before
    why: str = ""  # the reason of that
    resumed_from: str = ""  # the checkpoint; empty if it began from the start
    start_step: int | None = None
    last_step: int | None = None
    lost_steps: int | None = None  # which the next attempt repeated
    started_s: float | None = None
    ended_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """How waiting for one job ended."""

    job_id: str  # empty if it is a run of a group that was not submitted
    result: Result
    why: str = ""  # why it is unknown or can never start, and what to do; of a forgotten job, its outcome
    run: str = ""  # its name in a group
    job: Job | None = None  # None if it has no record that can be read


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitResult:
    """How waiting ended."""

    result: Result  # of all jobs: the worst one, but RUNNING until all are over
    waited_s: float
    jobs: tuple[JobResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far along a program is, by its logs."""

    current: float | None = None  # finished units; None if the logs show no progress
    total: float | None = None
    unit: str = ""  # step, epoch, item, sample ...
    fraction: float | None = None  # 0 to 1
    epoch: float | None = None
    epochs: float | None = None
    batch: float | None = None  # of the innermost counter
    batches: float | None = None
    unclear: tuple[str, ...] = ()  # what counters say that contradict each other
    loss: float | None = None  # may be nan or inf
    learning_rate: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    rate_per_s: float | None = None  # units per second, recently
    average_rate_per_s: float | None = None
    remaining_s: float | None = None
    shortest_s: float | None = None  # the range of `remaining_s`
    longest_s: float | None = None
    confidence: Confidence | None = None  # of `remaining_s`
    pause_s: float | None = None  # for how long it has made no progress, if that is unusually long
    is_over: bool = False  # the job has ended
    updated_s: float | None = None  # when the newest of the logs was written
    logs: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()  # why files could not be read


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What became of a text for the channels."""

    channels: tuple[str, ...]  # those that have it
    is_pending: bool  # it is saved; jobmon keeps trying to send it
    problem: str = ""  # why some channel does not have it
    was_hidden: bool = False  # a part that looked like a password or a token was replaced by [hidden]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A line of a log."""

    file: str
    line: int | None  # from 1; None if the lines before it were not counted
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong with a running job now, or that nothing is known to be wrong."""

    name: str  # of the verdict, e.g. ``hang``; ``healthy`` or ``not-known`` if no problem is known
    title: str
    text: str
    is_critical: bool
    since_s: float
    evidence: tuple[str, ...] = ()
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a job failed, or what log files show."""

    cause: str | None  # the id of the pattern or cause; None if nothing failed or the cause is unknown
    label: str | None  # the kind of failure, see `jobmon patterns`
    title: str
    headline: str  # what happened, as precisely as it is known, e.g. ``KeyError: 'lr'``
    explanation: str
    advice: str
    confidence: float  # 0 to 1
    is_proved: bool  # whether the evidence proves the cause; else it is the end of the log
    evidence: tuple[Evidence, ...] = ()
    note: str = ""  # what made the analysis incomplete
    log: str = ""  # the log to read first
    fingerprint: str = ""  # equal for the same failure of other jobs
    job_id: str = ""  # empty for files
    problems: tuple[Problem, ...] = ()  # of a job that is running, the worst first
    unread: tuple[str, ...] = ()  # files that could not be read, with the reason


def explanation_of(report: Report) -> Explanation:
    """Return the record of a diagnosis."""
    found, live = report.diagnosis, report.live
    return record_from(
        Explanation,
        found,
        evidence=tuple(Evidence(file=each.file, line=each.number, text=each.text) for each in found.evidence),
        log=found.log_path,
        job_id=str(report.subject.ref) if report.subject else "",
        problems=tuple(record_from(Problem, each) for each in (live.findings if live else ())),
        unread=report.unread,
    )
