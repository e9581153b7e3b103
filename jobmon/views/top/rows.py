"""What a task's row says: its state, its problems, its run time and its throughput."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import pending_reason, run_time_s, state, task_cause
from jobmon.views.top.drawing import Span
from jobmon_core.app.jobs.find import Group
from jobmon_core.app.jobs.overview import ending_of, state_text
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.slurm.pending_reasons import pending_hint

if TYPE_CHECKING:
    from jobmon_core.app.live.tasks import LiveTask

# the letter, colour and meaning of each problem; letters also work where there are no colours
LETTERS = {
    EventKind.STALLED: ("S", Style.BAD, "stalled: no progress for unusually long"),
    EventKind.LAUNCH_FAILED: ("F", Style.BAD, "launch failed: e.g. a worker is missing"),
    EventKind.NO_OUTPUT: ("N", Style.BAD, "no output: a log is missing or empty"),
    EventKind.ERROR: ("E", Style.BAD, "error: its log shows a failure"),
    EventKind.TROUBLE: ("T", Style.ATTENTION, "trouble: its agents found a problem"),
    EventKind.DIVERGED: ("D", Style.BAD, "diverged: loss or gradient norm not finite or far too high"),
    EventKind.TIME_LIMIT: ("L", Style.ATTENTION, "will not end before its time limit"),
    EventKind.SLOW: ("W", Style.ATTENTION, "slow: clearly slower than before"),
}
NO_MONITOR = "!"
OLD_DATA = "?"
_STYLES = {
    Group.COMPLETED: Style.GOOD,
    Group.FAILED: Style.BAD,
    Group.UNKNOWN: Style.ATTENTION,
}


def letters(live: LiveTask) -> Span:
    """Return a letter for each thing that is wrong with a task, with the style of the worst."""
    found = [LETTERS[kind] for kind in live.problems if kind in LETTERS]
    marks = "".join(letter for letter, _, _ in found)
    if live.status.health.is_lost:
        return Span(f"{NO_MONITOR}{marks}", Style.BAD)
    if live.is_stale:
        marks = f"{OLD_DATA}{marks}"
    return Span(marks, found[0][1] if found else Style.ATTENTION)


def note(live: LiveTask) -> Span | None:
    """Return what the row of a task that does not run shows in place of progress; None if it runs."""
    if live.group is Group.RUNNING:
        return None
    job, task = live.job, live.task
    if live.group is Group.PENDING:
        reason = pending_reason(job)
        state_word = "submitted, not yet listed"
        if job.tasks or job.pending_indices:
            state_word = "PENDING"
        hint = pending_hint(reason)
        if hint and not hint.starts_by_itself:  # as in `jobmon status`
            # e.g. only "held" of "is held: its launch failed"; the reason beside it says the rest
            problem = hint.problem.removeprefix("is ").partition(":")[0]
            return Span(f"{state_word}, {problem} ({reason})", Style.ATTENTION)
        return Span(f"{state_word} ({reason})" if reason else state_word, Style.DIM)
    if live.group is Group.ENDING and task and (ending := ending_of(task)):
        return Span(ending.text, Style.ATTENTION)
    return Span(_ended(live), _STYLES.get(live.group, Style.DIM))


def _ended(live: LiveTask) -> str:
    if live.group is Group.UNWATCHED or live.task is None:
        return str(live.group)
    if live.task.end is None:
        return state(live.job)
    why = "" if live.group is Group.CANCELLED else task_cause(live.task)
    how = state_text(live.task.end) + (", but doubtful" if live.task.is_doubtful_success else "")
    follows = ""
    if live.job.is_restarting:
        follows = "; restart due"
    if why:
        return f"{how}: {why}{follows}"
    return f"{how}{follows}"


def elapsed(live: LiveTask, now_s: float, *, with_limit: bool = True) -> str:
    """Return the run time and the limit, e.g. ``2h 34m/8h``; empty if `run_time_s` is None."""
    seconds = None
    if live.task:
        seconds = run_time_s(live.task, now_s)
    if live.task is None or seconds is None:
        return ""
    limit = ""
    if with_limit and live.task.limit_s:
        limit = f"/{duration(live.task.limit_s)}"
    return f"{duration(seconds)}{limit}"


def rate_per_s(live: LiveTask) -> float | None:
    """Return the recent throughput: measured, else as the log prints it."""
    if live.estimate.rate_per_s is not None:
        return live.estimate.rate_per_s
    if live.progress.progress:
        return live.progress.progress.rate_per_s
    return None
