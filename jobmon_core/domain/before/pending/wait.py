"""Split the wait of a task's latest run: the time in which it could not start, and the rest.

Slurm's time of eligibility moves when a job is released or its dependency is met. A hold that began later
shows only in what jobmon saw of the queue.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from jobmon_core.domain.before.pending.categories import category_of
from jobmon_core.domain.before.pending.model import Category
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.job.tracking.model import Task
from jobmon_core.domain.slurm.states import JobState, Phase

_WORTH_SAYING_S = 60  # a shorter wait is not worth a word
_PHRASES = {
    Category.HELD: "held",
    Category.LAUNCH: "held",
    Category.DEPENDENCY: "for its dependency",
    Category.BEGIN_TIME: "until its begin time",
}
_UNKNOWN_PHRASE = "held"  # Slurm says only that it was not eligible


_Span = tuple[float, float, Category | None]  # from, to, and why if jobmon saw it


class Wait(NamedTuple):
    """How long a run waited for its start.

    Attributes:
        waited_s: from the submission, or from the requeue.
        held_s: when it was held, its dependency was not met or its begin time was ahead.
        held_for: why, if jobmon saw it.
    """

    waited_s: int
    held_s: int = 0
    held_for: Category | None = None

    @property
    def eligible_s(self) -> int:
        """In which it could have started."""
        return self.waited_s - self.held_s


def wait_of(task: Task) -> Wait | None:
    """None if the task has not started or that is unknown."""
    start_s = task.end.started_s if task.end else task.start_s
    has_started = task.end is not None or task.state.phase is not Phase.WAITING
    if start_s is None or task.submit_s is None or not has_started or start_s < task.submit_s:
        return None
    held = _held_spans(task, task.submit_s, start_s)
    held_s = round(_length([(begin_s, end_s) for begin_s, end_s, _ in held]))
    known = [each for each in held if each[2]]
    longest = max(known, key=lambda each: each[1] - each[0], default=None)
    return Wait(
        start_s - task.submit_s, min(held_s, start_s - task.submit_s), longest[2] if longest else None
    )


def _held_spans(task: Task, submit_s: int, start_s: int) -> list[_Span]:
    """When and why the run could not start, by what Slurm says and jobmon saw.

    A release ends a span at Slurm's time, not when jobmon next looked at the queue.
    """
    looks = [
        (max(change.at_s, float(submit_s)), JobState.from_slurm(change.state), change.reason)
        for change in task.history
    ]
    seen = [
        (at_s, end_s, category)
        for (at_s, state, reason), end_s in zip(
            looks, [*(at_s for at_s, *_ in looks[1:]), start_s], strict=False
        )
        if state.phase is Phase.WAITING
        and (category := category_of(reason, state)) in _PHRASES
        and min(end_s, start_s) > at_s
    ]
    first_look_s = next((at_s for at_s, state, _ in looks if state.phase is Phase.WAITING), float(start_s))
    is_held_at_first = bool(seen) and seen[0][0] == first_look_s
    eligible_s = task.end.eligible_s if task.end else None
    if eligible_s is None:
        eligible_s = int(first_look_s) if is_held_at_first else submit_s
    before_looks: _Span = (float(submit_s), min(float(eligible_s), first_look_s, float(start_s)), None)
    spans = [before_looks] if before_looks[1] > before_looks[0] else []
    return spans + [
        (begin_s, _end(begin_s, end_s, eligible_s), category) for begin_s, end_s, category in seen
    ]


def _end(begin_s: float, end_s: float, eligible_s: int) -> float:
    return float(eligible_s) if begin_s < eligible_s <= end_s else end_s


def _length(spans: list[tuple[float, float]]) -> float:
    """How much time the spans cover together."""
    edges = sorted({edge for span in spans for edge in span})
    return sum(
        later - earlier
        for earlier, later in pairwise(edges)
        if any(begin <= earlier and later <= end for begin, end in spans)
    )


def wait_text(wait: Wait) -> str:
    """``2h 10m (1h 30m held)``."""
    return duration(wait.waited_s) + held_text(wait)


def held_text(wait: Wait) -> str:
    """`` (1h 30m held)``; empty if it could have started nearly all the time."""
    if wait.held_s < _WORTH_SAYING_S:
        return ""
    phrase = _PHRASES.get(wait.held_for, _UNKNOWN_PHRASE) if wait.held_for else _UNKNOWN_PHRASE
    return f" ({duration(wait.held_s)} {phrase})"


def is_worth_saying(wait: Wait) -> bool:
    """Longer than a moment."""
    return wait.waited_s >= _WORTH_SAYING_S


def wait_json(task: Task) -> dict[str, int | None]:
    """In seconds, with the run time."""
    wait = wait_of(task)
    return {
        "waited_s": wait.waited_s if wait else None,
        "held_s": wait.held_s if wait else None,
        "eligible_s": wait.eligible_s if wait else None,
        "running_s": task.end.elapsed_s if task.end else None,
    }
