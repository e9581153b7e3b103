"""How running jobs were launched and how far they are, for `jobmon status` and `jobmon show`."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

from jobmon.views.model import clock, fields, span, state_counts
from jobmon.views.progress import WILL_TIME_OUT, eta, finish, problems, progress_age, spans, workers_count
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.app.live.tasks import live_tasks
from jobmon_core.domain.finding import Severity
from jobmon_core.domain.humanize import count, duration, joined, rate
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.logs.progress.events.ongoing import LASTING
from jobmon_core.domain.logs.progress.figures import done, epoch, loss, metrics, percentage, share
from jobmon_core.domain.node.launch.judge import started_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobmon.views.console import Lines, Rows
    from jobmon.views.model import Json
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
    """Return e.g. ``slow, 67.3%, 1h 15m left``, for several running tasks e.g. ``1 stalled, 7% to 67%``.

    What is about one of several tasks begins with its id: ``12_3: 67.3%``.
    """
    if progress is None:
        return ""
    running = [live for live in live_tasks(status, progress, now_s) if live.group is StateGroup.RUNNING]
    known = [live for live in running if live.progress.progress]
    if len(known) != 1 and len(running) != 1:
        return joined(*_problem_counts(running), _range_of_shares(known))
    shown = (known or running)[0]
    text = _task_progress(shown, now_s)
    if text and state_counts(status.job).total() > 1:
        text = f"{shown.ref}: {text}"
    others = _problem_counts(live for live in running if live is not shown)
    return joined(*others, text)


def _problem_counts(tasks: Iterable[LiveTask]) -> list[str]:
    counted = Counter(chain.from_iterable(live.problems for live in tasks))
    return [f"{counted[kind]} {_PROBLEMS_OF_TASKS.get(kind, kind)}" for kind in LASTING if counted[kind]]


def _shares(tasks: Iterable[LiveTask]) -> list[float]:
    progress = (live.progress.progress for live in tasks)
    return sorted(each.fraction for each in progress if each and each.fraction is not None)


def _range_of_shares(tasks: Iterable[LiveTask]) -> str:
    """Return e.g. ``20% to 90%``; empty if no share is known."""
    shares = _shares(tasks)
    return " to ".join(dict.fromkeys(percentage(each, decimals=0) for each in shares[:1] + shares[-1:]))


def _task_progress(live: LiveTask, now_s: float) -> str:
    progress = live.progress.progress
    usual = ""
    if live.usual:
        usual = f"usually {spans(live.usual.left_s)} left"
    if progress is None:
        return joined(*problems(live), usual)
    parts = [*problems(live), share(progress)]
    is_stalled, has_done_all = EventKind.STALLED in live.problems, progress.fraction == 1.0
    left_s, task = live.estimate.remaining_s, live.task
    if task and task.start_s and task.limit_s and now_s > task.start_s + task.limit_s:
        parts.append("time limit reached")
    elif left_s is not None and not (has_done_all or is_stalled):
        parts.append(f"{span(left_s)} left")
    elif usual:
        parts.append(usual)
    if has_done_all:
        parts.append("not ended yet")
    if live.pause_s and not is_stalled:
        parts.append(f"no progress for {span(live.pause_s)}")
    return ", ".join(parts)


def progress_rows(live: LiveTask, now_s: float) -> Rows:
    """Yield the rows of ``jobmon show`` about the launch and the progress of a task."""
    yield from ((launch_label(live), text) for _, text in launch_lines(live, now_s))
    if progress := live.progress.progress:
        yield from _figures(live, progress, now_s)
    elif live.usual:
        yield "ETA", eta(live, now_s)
    if counted := workers_count(live):
        yield "workers", f"{counted} with a log of their own"
    for event in live.events[-_EVENTS_SHOWN:]:
        yield "events", f"{clock(event.at_s, now_s, seconds=True)} {event.text}"


def array_rows(tasks: Iterable[LiveTask], now_s: float) -> Rows:
    """Yield the rows of ``jobmon show`` about the progress of an array."""
    running = [live for live in tasks if live.group is StateGroup.RUNNING]
    if text := _range_of_shares(running):
        shown, tasks_text = len(_shares(running)), count(len(running), "running task")
        yield "progress", f"{text} ({tasks_text if shown == len(running) else f'{shown} of {tasks_text}'})"
    known = [live for live in running if live.estimate.remaining_s is not None]
    if last := max(known, key=lambda live: live.estimate.remaining_s or 0.0, default=None):
        others = count(len(running) - len(known), "other task")
        rest = f"{last.ref} ends last" if len(known) == len(running) else f"the end of {others} is not known"
        yield "ETA", f"{finish(last.estimate, now_s)}; {rest}"


def _figures(live: LiveTask, progress: Progress, now_s: float) -> Rows:
    yield "progress", f"{joined(done(progress), epoch(progress))}{progress_age(live, now_s)}"
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
    """Yield the verdict about the launch of a running task, if there is one, then its checks.

    If it passed, only warnings follow.
    """
    state = live.launch
    if state is None or state.verdict is Severity.UNKNOWN or live.group is not StateGroup.RUNNING:
        return
    yield _launch_verdict(state, now_s)
    for item in state.of(Severity.WARNING) if state.verdict is Severity.INFO else state.items:
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


def _launch_details(item: Finding) -> Lines:
    yield from item.evidence[:_MAX_DETAILS]
    if len(item.evidence) > _MAX_DETAILS:
        yield f"and {len(item.evidence) - _MAX_DETAILS} more"


def launch_json(tasks: Sequence[LiveTask]) -> Json:
    """Return the key ``launch``: that of a single task."""
    if len(tasks) != 1 or (state := tasks[0].launch) is None:
        return {"launch": None}
    verdict = (_RESULTS | {Severity.PENDING: "checking"})[state.verdict]
    if state.verdict is Severity.PENDING and tasks[0].group is not StateGroup.RUNNING:
        verdict = _RESULTS[Severity.UNKNOWN]
    items = [
        {**fields(item, "text", name="id", details="evidence"), "result": _RESULTS[item.severity]}
        for item in state.items
    ]
    return {"launch": {"verdict": verdict, "items": items}}
