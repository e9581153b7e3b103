"""Whether an attempt went on from its checkpoint, by the first steps and losses that its log shows.

A wrong "from scratch" would end a lineage that works, so it needs a counter of which the attempt before shows
that it counts as the checkpoint does. One that starts again in each session is not judged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from jobmon_core.domain.humanize import count, number
from jobmon_core.domain.logs.progress.curve import median
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.model import Progress

ENOUGH = 10  # different counts
_STEPS = ("step", "it", "batch")
_UNKNOWN_INTERVAL = 0.1  # of the step of the checkpoint: the save interval, if it is not known
_MAX_AHEAD = 3  # save intervals by which a log was ahead of its newest complete checkpoint, at most
_SAME = 0.05  # of a total
_MIN_LOSSES, _LAST_LOSSES, _SPREADS, _MIN_SPREAD = 3, 20, 3, 0.1
_ADVICE = (
    "jobmon starts no further attempt. See that the script uses JOBMON_RESUME_FROM; `scancel JOBID` ends the "
    "run before it replaces its checkpoints."
)


class ResumeVerdict(StrEnum):
    """What the log of an attempt shows about its start."""

    OPEN = "open"  # it shows too little so far
    RESUMED = "resumed"
    BEHIND = "behind"  # it resumed from an older checkpoint
    FROM_SCRATCH = "from scratch"
    UNCLEAR = "unclear"  # its counts are not comparable


@dataclass(frozen=True, slots=True)
class SavedFile:
    """The largest file of a checkpoint below the one that an attempt resumes from, as of its start."""

    path: str
    step: int
    modified_s: float


@dataclass(frozen=True, slots=True)
class ResumeState:
    """What the looks at an attempt have shown so far."""

    verdict: ResumeVerdict = ResumeVerdict.OPEN
    watched: tuple[SavedFile, ...] | None = None  # None: not looked for yet; empty after a late writer


@dataclass(frozen=True, slots=True)
class Resume:
    """From where an attempt is to resume, and what the log of the attempt before had shown."""

    number: int  # of the attempt
    step: int  # of the checkpoint, or its epoch
    unit: str = "step"  # or epoch
    before: Progress | None = None  # the latest of the attempt before; None: not known
    losses: tuple[float | None, ...] = ()  # of the attempt before
    interval: float | None = None  # steps between two checkpoints

    @property
    def tolerance(self) -> float:
        """How many steps before the checkpoint an attempt may go on and still count as resumed."""
        return min(self.interval or max(1.0, _UNKNOWN_INTERVAL * self.step), self.step / 2)

    @property
    def highest(self) -> float:
        """The highest step at which an attempt that resumed may go on."""
        return max(self.step, self.reached or 0) + self.tolerance

    @property
    def reached(self) -> float | None:
        """The last step of the attempt before."""
        if self.before:
            return step_in(self.before, self.unit)
        return None


def step_in(progress: Progress, unit: str) -> float | None:
    """Return the step or epoch (``unit``) that a log shows; None at 0, and if it does not count these."""
    if unit == "epoch" and progress.epoch is not None:
        return progress.epoch or None
    if progress.unit in (("epoch",) if unit == "epoch" else _STEPS):
        return progress.current or None
    return None


def is_same_counter(one: Progress, other: Progress) -> bool:
    """Whether both are by one counter: a bar of what is left, or of data that is loaded, is another."""
    totals = [each.total for each in (one, other) if each.total is not None]
    are_alike = len(totals) < len((one, other)) or min(totals) >= (1 - _SAME) * max(totals)
    return are_alike and (one.format, one.label) == (other.format, other.label)


def judge_resume(
    resume: Resume, first: Sequence[Progress], *, is_due: bool, is_explained: bool
) -> ResumeVerdict:
    """Return what the first counts of an attempt show.

    They are above 0, different, and of the counter of the attempt before; with ``is_due``, fewer than
    `ENOUGH` must do. If the log says that a checkpoint was loaded (``is_explained``), a count that starts
    again is that of the session.
    """
    steps = list(filter(None, (step_in(each, resume.unit) for each in first)))
    if not is_due and len(steps) < ENOUGH:
        return ResumeVerdict.OPEN
    if len(steps) <= 1:
        return ResumeVerdict.OPEN if steps else ResumeVerdict.UNCLEAR
    begin, start = steps[0], max(1.0, 2 * (steps[1] - steps[0]))  # one from scratch begins no higher
    lowest = resume.step - resume.tolerance
    rises = [later - earlier for earlier, later in pairwise(steps)]
    if begin > resume.highest + start or lowest <= start or min(rises) < 0:
        return ResumeVerdict.UNCLEAR
    if begin >= lowest:
        return ResumeVerdict.RESUMED
    if is_explained or max(rises) >= lowest / 2 or not _counts_as_checkpoints(resume):
        return ResumeVerdict.UNCLEAR
    return ResumeVerdict.FROM_SCRATCH if begin <= start else ResumeVerdict.BEHIND


def _counts_as_checkpoints(resume: Resume) -> bool:
    """Whether the attempt before had counted to about the step of its checkpoint, by one counter.

    If the count is a sum of several bars or epochs, a session that resumes within one of them counts from 1.
    """
    if resume.before is None or resume.reached is None:
        return False
    is_sum = resume.unit != "epoch" and resume.before.batch not in (None, resume.before.current)
    most = max(resume.step, _MAX_AHEAD * (resume.interval or 0))
    return not is_sum and -resume.tolerance <= resume.reached - resume.step <= most


def resume_events(
    resume: Resume, first: Sequence[Progress], verdict: ResumeVerdict, now_s: float
) -> tuple[Event, ...]:
    """Return what to tell the user about a verdict."""
    begin = (step_in(first[0], resume.unit) if first else None) or 0.0
    aim, name = f"{resume.unit} {number(resume.step)}", f"Attempt {resume.number}"
    at = f"{resume.unit} {number(begin)}"
    if verdict is ResumeVerdict.RESUMED:
        if 0 <= begin - resume.step <= resume.tolerance:  # a log need not show each step
            begin, at = resume.step, aim
        repeated = int((resume.reached or 0) - begin)
        more = ""
        if repeated > 0:
            more = f"; {count(repeated, resume.unit)} repeated"
        event = Event(now_s, EventKind.RESUMED, f"{name} resumed at {at}{more}")
        return event, *_loss_events(resume, first, now_s)
    if verdict is ResumeVerdict.FROM_SCRATCH:
        text = f"{name} started from scratch at {at}, although it was to resume from {aim}"
        title = "The training started from scratch"
        return (Event(now_s, EventKind.NOT_RESUMED, text, is_critical=True, advice=_ADVICE, title=title),)
    if verdict is ResumeVerdict.BEHIND:
        text = f"{name} went on at {at}, although it was to resume from {aim}"
        advice = "See which checkpoint its log names: it may have loaded an older one."
        return (Event(now_s, EventKind.NOT_RESUMED, text, subject="behind", advice=advice),)
    return ()


def _loss_events(resume: Resume, first: Sequence[Progress], now_s: float) -> tuple[Event, ...]:
    last, new = sorted(_finite(resume.losses)[-_LAST_LOSSES:]), _finite([each.loss for each in first])
    if min(len(last), len(new)) < _MIN_LOSSES:
        return ()
    usual, now = median(last), median(new)
    middle = last[len(last) // 10 : -(len(last) // 10) or None]  # without a tenth at each end
    if now <= usual + _SPREADS * max(middle[-1] - middle[0], _MIN_SPREAD * abs(usual)):
        return ()
    text = (
        f"the first losses of attempt {resume.number} are far above the last ones before it: {now:.4g}, "
        f"before {usual:.4g}"
    )
    advice = "The step went on, but the weights may be new: see whether the log says that they were loaded."
    return (Event(now_s, EventKind.NOT_RESUMED, text, subject="loss", advice=advice),)


def _finite(losses: Sequence[float | None]) -> list[float]:
    return [loss for loss in losses if loss is not None and math.isfinite(loss)]
