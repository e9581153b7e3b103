"""How far the workers and the tasks of a job are, by their own logs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import age
from jobmon.views.text_width import text_width
from jobmon.views.top.drawing import Span, bar
from jobmon.views.top.job_list import note, rate_per_s
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.domain.humanize import rate
from jobmon_core.domain.logs.progress.figures import percentage, units
from jobmon_core.domain.logs.progress.workers import WorkerState, worker_rate_per_s, worker_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon.views.top.drawing import Line, Symbols
    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.domain.logs.progress.model import Progress, WorkerProgress

_BAR, _TASK_BAR = 8, 16
_STYLES = {
    WorkerState.RUNNING: Style.ACTIVE,
    WorkerState.SILENT: Style.ATTENTION,
    WorkerState.FINISHED: Style.GOOD,
}
_NUMBER = re.compile(r"\d+")


def worker_lines(live: LiveTask, now_s: float, symbols: Symbols) -> Iterator[Line]:
    """Yield a line for each log of a worker, the silent ones first."""
    workers = live.progress.workers
    if len(workers) < 2:  # noqa: PLR2004 - of one worker, the page shows everything
        return
    width = max(map(text_width, workers))
    stated = {name: state_span(live, worker, now_s) for name, worker in workers.items()}
    state_width = max(len(doing.text) for doing in stated.values())
    for name in sorted(workers, key=lambda name: stated[name].style is not _STYLES[WorkerState.SILENT]):
        padded = name + " " * (width - text_width(name))
        doing = stated[name]._replace(text=f"{stated[name].text:<{state_width}}")
        yield Span(f"  {padded}  "), doing, Span("  "), *_figures(live, workers[name], now_s, symbols)


def _state(live: LiveTask, worker: WorkerProgress, now_s: float) -> WorkerState:
    silent_s = None
    if live.job.settings:
        silent_s = live.job.settings.stall_timeout_s
    return worker_state(worker, now_s, silent_s)


def state_span(live: LiveTask, worker: WorkerProgress, now_s: float) -> Span:
    """Return what a worker does by its log; of a job that does not run, only that it finished."""
    state = _state(live, worker, now_s)
    if live.group is not StateGroup.RUNNING and state is not WorkerState.FINISHED:
        return Span("")
    text = f"silent for {age(now_s - worker.written_s)}" if state is WorkerState.SILENT else str(state)
    return Span(text, _STYLES[state])


def _figures(live: LiveTask, worker: WorkerProgress, now_s: float, symbols: Symbols) -> Iterator[Span]:
    yield share_done(worker.progress, symbols)
    if progress := worker.progress:
        counted = ""
        if progress.fraction is not None:
            counted = f"  {units(progress)}"
        yield Span(f"{counted}  {log_speed(live, worker, now_s)}")


def share_done(progress: Progress | None, symbols: Symbols, width: int = _BAR) -> Span:
    """Return how far a worker or task is by its log: a bar with the share, without a total the count."""
    if progress is None:
        return Span("no progress yet", Style.DIM)
    if progress.fraction is None:
        return Span(units(progress))
    return Span(f"{bar(progress.fraction, width, symbols)} {percentage(progress.fraction):>5}")


def log_speed(live: LiveTask, worker: WorkerProgress, now_s: float) -> str:
    """Return the speed of a worker by its log; empty if it is silent or not known."""
    if worker.progress is None or _state(live, worker, now_s) is WorkerState.SILENT:
        return ""
    return rate(worker_rate_per_s(worker), worker.progress.unit)


def logs_by_rank(live: LiveTask) -> dict[int, WorkerProgress]:
    """Return the log of each rank of which an agent knows the worker; empty unless all logs can be matched.

    A log belongs to a rank if its name contains one number, and that is the rank.
    """
    ranks = [worker.rank for report in live.reports for worker in report.latest.workers]
    matched: dict[int, WorkerProgress] = {}
    for name, worker in live.progress.workers.items():
        numbers = _NUMBER.findall(name)
        rank = None
        if len(numbers) == 1:
            rank = int(numbers[0])
        if rank is None or rank in matched or ranks.count(rank) != 1:
            return {}
        matched[rank] = worker
    return matched


def task_lines(tasks: Sequence[LiveTask], symbols: Symbols) -> Iterator[Line]:
    """Yield a line for each task of a job that has several."""
    if len(tasks) < 2:  # noqa: PLR2004 - of one task, the page shows everything
        return
    width = max(text_width(live.ref) for live in tasks)
    for live in tasks:
        remark = note(live)
        progress = live.progress.progress
        if remark:
            progress = None
        speed = ""
        if progress:
            speed = rate(rate_per_s(live), progress.unit)
        shown = remark or share_done(progress, symbols, _TASK_BAR)
        yield Span(f"  {live.ref:<{width}}  "), shown, Span(f"  {speed}")
