"""How running jobs were launched and how far they are, as `jobmon status` and `jobmon show` say it."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

from jobmon.views.model import clock, span, state_counts
from jobmon.views.progress import WILL_TIME_OUT, eta, finish, problems, progress_age, workers_count
from jobmon.views.record import fields
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.app.live.tasks import live_tasks
from jobmon_core.domain.finding import Severity
from jobmon_core.domain.humanize import count, duration, rate
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.logs.progress.events.ongoing import LASTING
from jobmon_core.domain.logs.progress.figures import done, epoch, loss, metrics, percentage, units
from jobmon_core.domain.node.launch.judge import started_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.domain.finding import Finding
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.logs.progress.model import Progress
    from jobmon_core.domain.node.launch.model import LaunchState
    from jobmon_core.lifecycle.health import JobStatus

_RESULTS = {  # of checks of a launch, in JSON
    Severity.UNKNOWN: "not known",
    Severity.PENDING: "not yet",
    Severity.INFO: "passed",
    Severity.WARNING: "warning",
    Severity.CRITICAL: "failed",
}
_MARKS = {**_RESULTS, Severity.PENDING: "waiting", Severity.INFO: "ok"}  # on a screen
_MAX_DETAILS = 4  # of a check
_EVENTS_SHOWN = 5
_PROBLEMS_OF_TASKS = {  # as they follow a number; the others have the word of their kind
    EventKind.NO_OUTPUT: "with missing output",
    EventKind.LAUNCH_FAILED: "with a failed launch",
    EventKind.TIME_LIMIT: WILL_TIME_OUT,
}


def job_progress(status: JobStatus, progress: JobProgress | None, now_s: float) -> str:
    """Return e.g. ``slow, 67.3%, 1h 15m left``; empty if nothing is known.

    For several running tasks, it is the number of those with each problem and the range of their shares, e.g.
    ``1 stalled, 7% to 67%``. What is about one of several tasks begins with its id: ``12_3: 67.3%``.
    """
    if progress is None:
        return ""
    running = [live for live in live_tasks(status, progress, now_s) if live.group is StateGroup.RUNNING]
    known = [live for live in running if live.progress.progress]
    if len(known) != 1 and len(running) != 1:
        return ", ".join(filter(None, (*_problem_counts(running), _range_of_shares(known))))
    shown = (known or running)[0]
    text = _task_progress(shown, now_s)
    if text and state_counts(status.job).total() > 1:
        text = f"{shown.ref}: {text}"
    others = _problem_counts(live for live in running if live is not shown)
    return ", ".join(filter(None, (*others, text)))


def _problem_counts(tasks: Iterable[LiveTask]) -> list[str]:
    """Return e.g. ``2 stalled``, ``1 slow``: how many tasks have each problem."""
    counted = Counter(chain.from_iterable(live.problems for live in tasks))
    return [f"{counted[kind]} {_PROBLEMS_OF_TASKS.get(kind, kind)}" for kind in LASTING if counted[kind]]


def _shares(tasks: Iterable[LiveTask]) -> list[float]:
    """Return how much of each task is done, in ascending order, without those that do not show it."""
    progress = (live.progress.progress for live in tasks)
    return sorted(each.fraction for each in progress if each and each.fraction is not None)


def _range_of_shares(tasks: Iterable[LiveTask]) -> str:
    """Return e.g. ``20% to 90%``; empty if no share is known."""
    shares = _shares(tasks)
    texts = [percentage(share, decimals=0) for share in (shares[:1] + shares[-1:])]
    return " to ".join(dict.fromkeys(texts))


def _task_progress(live: LiveTask, now_s: float) -> str:
    progress = live.progress.progress
    if progress is None:
        return ", ".join(problems(live))
    share = units(progress) if progress.fraction is None else percentage(progress.fraction)
    is_stalled = EventKind.STALLED in live.problems
    left_s = None
    if progress.fraction != 1.0 and not is_stalled:
        left_s = live.estimate.remaining_s
    left = ""
    if left_s is not None:
        left = f"{span(left_s)} left"
    if live.task and live.task.start_s and live.task.limit_s:
        left = "time limit reached" if now_s > live.task.start_s + live.task.limit_s else left
    paused = ""
    if live.pause_s and not is_stalled:
        paused = f"no progress for {span(live.pause_s)}"
    unfinished = ""
    if progress.fraction == 1.0:
        unfinished = "not ended yet"
    parts = (*problems(live), share, left, unfinished, paused)
    return ", ".join(filter(None, parts))


def progress_rows(live: LiveTask, now_s: float) -> Iterator[tuple[str, str]]:
    """Yield the rows of ``jobmon show`` about the launch and the progress of a task."""
    yield from ((launch_label(live), text) for _, text in launch_lines(live, now_s))
    if progress := live.progress.progress:
        yield from _figures(live, progress, now_s)
    if counted := workers_count(live):
        yield "workers", f"{counted} with a log of their own"
    for event in live.events[-_EVENTS_SHOWN:]:
        yield "events", f"{clock(event.at_s, now_s, seconds=True)} {event.text}"


def array_rows(tasks: Iterable[LiveTask], now_s: float) -> Iterator[tuple[str, str]]:
    """Yield the rows of ``jobmon show`` about the progress of all running tasks of an array."""
    running = [live for live in tasks if live.group is StateGroup.RUNNING]
    if text := _range_of_shares(running):
        shown = len(_shares(running))
        of_how_many = ""
        if shown < len(running):
            of_how_many = f"{shown} of "
        yield "progress", f"{text} ({of_how_many}{count(len(running), 'running task')})"
    known = [live for live in running if live.estimate.remaining_s is not None]
    if last := max(known, key=lambda live: live.estimate.remaining_s or 0.0, default=None):
        others = count(len(running) - len(known), "other task")
        rest = f"{last.ref} ends last" if len(known) == len(running) else f"the end of {others} is not known"
        yield "ETA", f"{finish(last.estimate, now_s)}; {rest}"


def _figures(live: LiveTask, progress: Progress, now_s: float) -> Iterator[tuple[str, str]]:
    parts = ", ".join(filter(None, (done(progress), epoch(progress))))
    yield "progress", f"{parts}{progress_age(live, now_s)}"
    if live.group is StateGroup.RUNNING:
        yield "ETA", eta(live, now_s)
    rates = (live.estimate.rate_per_s, live.estimate.average_rate_per_s)
    recent, average = (rate(per_s, progress.unit) for per_s in rates)
    if average:
        yield "speed", recent if recent == average else f"{recent} (average {average})"
    if progress.loss is not None:
        yield "loss", loss(progress.loss)
    if further := metrics(progress):
        yield "metrics", ", ".join(further)
    if progress.end_marker:
        yield "log says", progress.end_marker


def launch_label(live: LiveTask) -> str:
    """Return the word that goes before `launch_lines`."""
    if live.launch and live.launch.verdict is Severity.INFO:
        return "launched"
    return "launch"


def launch_lines(live: LiveTask, now_s: float) -> Iterator[tuple[Severity, str]]:
    """Yield the verdict about the launch of a running task, then its checks, each with its result.

    If the launch has passed, only warnings follow. Nothing is yielded if it was not looked at or could not be
    judged, or if the task does not run.
    """
    state = live.launch
    if state is None or state.verdict is Severity.UNKNOWN or live.group is not StateGroup.RUNNING:
        return
    yield _launch_verdict(state, now_s)
    shown = state.items
    if state.verdict is Severity.INFO:
        shown = state.of(Severity.WARNING)
    for item in shown:
        yield item.severity, f"{_MARKS[item.severity]}: {item.text}"
        if state.verdict is not Severity.CRITICAL:  # else the problem above shows them
            yield from ((item.severity, f"  {line}") for line in _launch_details(item))


def _launch_verdict(state: LaunchState, now_s: float) -> tuple[Severity, str]:
    if state.verdict is Severity.INFO:
        return Severity.INFO, started_text(state.items)
    if state.verdict is Severity.CRITICAL:
        return Severity.CRITICAL, "failed"
    left_s = state.started_s + state.window_s - now_s
    if left_s > 0:
        return Severity.PENDING, f"being checked, {duration(left_s)} left"
    return Severity.PENDING, f"being checked, {duration(now_s - state.started_s)} after the start"


def _launch_details(item: Finding) -> Iterator[str]:
    yield from item.evidence[:_MAX_DETAILS]
    if len(item.evidence) > _MAX_DETAILS:
        yield f"and {len(item.evidence) - _MAX_DETAILS} more"


def launch_json(tasks: Sequence[LiveTask]) -> dict[str, Any]:
    """Return the documented key ``launch``: that of a single task; null for several, or if not looked at."""
    state = None
    if len(tasks) == 1:
        state = tasks[0].launch
    if state is None:
        return {"launch": None}
    verdict = (_RESULTS | {Severity.PENDING: "checking"})[state.verdict]
    if state.verdict is Severity.PENDING and tasks[0].group is not StateGroup.RUNNING:
        verdict = _RESULTS[Severity.UNKNOWN]
    items = [
        {**fields(item, "text", name="id", details="evidence"), "result": _RESULTS[item.severity]}
        for item in state.items
    ]
    return {"launch": {"verdict": verdict, "items": items}}
