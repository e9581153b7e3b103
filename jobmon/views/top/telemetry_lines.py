"""What agents measured, on the page of a task: its GPUs, workers and nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import age, span
from jobmon.views.telemetry import (
    cpu_text,
    gpu_memory,
    is_memory_scarce,
    is_throttled,
    memory_text,
    network_text,
    percent,
    power,
    silence_text,
    status_text,
    temperature,
    worker_name,
)
from jobmon.views.text_width import text_width
from jobmon.views.top.drawing import Column, Section, Span, attention, bar, table, titled
from jobmon.views.top.job_list import note, rate_per_s
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.domain.humanize import rate, size, text_of
from jobmon_core.domain.logs.progress.figures import percentage, units
from jobmon_core.domain.logs.progress.workers import WorkerState, worker_rate_per_s, worker_state
from jobmon_core.domain.node.telemetry.model import GONE, WorkerStatus
from jobmon_core.domain.node.telemetry.summary import (
    all_gpus,
    all_workers,
    gpu_marks,
    gpu_use,
    gpus_of,
    is_current,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon.views.top.drawing import Line, Symbols
    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.domain.logs.progress.model import Progress, WorkerProgress
    from jobmon_core.domain.node.telemetry.model import AgentReport, Gpu
    from jobmon_core.domain.node.telemetry.summary import NodeWorker


_BAR = 8
_STATUS = len("sleeping")  # columns at least, since workers often change between this and running
_MOST = 16  # rows of GPUs or workers
_HIGH_IO_WAIT = 20.0  # %
_STYLES = {
    WorkerStatus.RUNNING: Style.ACTIVE,
    WorkerStatus.BLOCKED: Style.ATTENTION,
    WorkerStatus.STOPPED: Style.ATTENTION,
    **dict.fromkeys(GONE, Style.BAD),
}
_EMPTY = Span("")


def telemetry_sections(live: LiveTask, now_s: float, width: int, symbols: Symbols) -> Iterator[Section]:
    """Yield the sections about GPUs, workers and nodes, and about logs that belong to no known worker."""
    reports = live.reports
    workers = all_workers(reports)
    gpu_rank = 4 if any(each.worker.gpus for each in workers) else 2
    yield Section(*_gpus(reports, now_s, width, symbols), gpu_rank, _MOST, is_by_importance=False)
    own = _workers(live, now_s, width, symbols)
    yield Section(*own, 2, _MOST, is_by_importance=False, is_wanted=True)
    if not logs_by_rank(live):
        logs = [*_worker_lines(live, now_s, symbols)]
        yield titled("Logs of workers" if workers else "Workers", logs, 2)._replace(is_wanted=True)
    yield Section(*_nodes(reports, now_s, width), 5, is_by_importance=False)


# the header of each column, its importance, and whether it is right-aligned; the first one gets the title
_GPU = (
    ("", 99, False),
    ("", 5, False),
    ("UTIL", 9, True),
    ("SM", 3, True),
    ("MEMORY", 8, True),
    ("POWER", 7, True),
    ("TEMP", 4, True),
    ("", 6, False),
)
_WORKER = (
    ("", 99, False),
    ("NODE", 5, False),
    ("PID", 6, True),
    ("STATUS", 15, False),
    ("LOG", 14, False),
    ("PROGRESS", 13, False),
    ("GPU", 12, True),
    ("UTIL", 11, True),
    ("", 10, False),
    ("GPU MEM", 10, True),
    ("SPEED", 9, False),
    ("CPU", 8, True),
    ("MEMORY", 7, True),
    ("ACTIVE", 4, True),
    ("UP", 2, True),
    ("CHILDREN", 1, True),
    ("THREADS", 0, True),
)
_NODE = (
    ("", 99, False),
    ("MEMORY", 8, False),
    ("CPU", 7, False),
    ("LOAD", 4, True),
    ("I/O WAIT", 5, True),
    ("NETWORK", 3, False),
    ("", 9, False),
)


def _table(
    title: str, heads: Sequence[tuple[str, int, bool]], rows: Sequence[Sequence[Span]], width: int
) -> tuple[Line, list[Line]]:
    if not rows:
        return (), []
    columns = [
        Column(header, cells, importance, is_right_aligned)
        for (header, importance, is_right_aligned), cells in zip(heads, zip(*rows, strict=True), strict=True)
    ]
    return table(title, columns, width)


def _gpus(
    reports: Sequence[AgentReport], now_s: float, width: int, symbols: Symbols
) -> tuple[Line, list[Line]]:
    rows, outdated = [], _outdated(reports, now_s)
    for placed in all_gpus(reports):
        gpu, used = placed.gpu, placed.gpu.utilization_percent
        name = f"{placed.node} {gpu.index}" if len(reports) > 1 else str(gpu.index)
        styles = (Style.DIM, Style.DIM) if placed.node in outdated else (Style.PLAIN, Style.ACTIVE)
        figures = (percent(gpu.sm_percent), gpu_memory(gpu), power(gpu.power_w), temperature(gpu))
        drawn = "" if used is None else bar(used / 100, _BAR, symbols)
        utilization = percent(used) or ("MIG" if gpu.is_mig else "?")
        plain = (Span(text, styles[0]) for text in (utilization, *figures))
        rows.append((Span(name), Span(drawn, styles[1]), *plain, _marks([gpu])))
    return _table("GPUs", _GPU, rows, width)


def _outdated(reports: Sequence[AgentReport], now_s: float) -> set[str]:
    return {each.latest.node.name for each in reports if not is_current(each, now_s)}


def _marks(gpus: Sequence[Gpu]) -> Span:
    is_broken = any(gpu.is_lost or gpu.xids or gpu.ecc_errors for gpu in gpus)
    marks = dict.fromkeys(mark for gpu in gpus for mark in gpu_marks(gpu))
    return Span(", ".join(marks), Style.BAD if is_broken else Style.ATTENTION)


def _workers(live: LiveTask, now_s: float, width: int, symbols: Symbols) -> tuple[Line, list[Line]]:
    logs, outdated, rows = logs_by_rank(live), _outdated(live.reports, now_s), []
    for placed in all_workers(live.reports):
        of_log = (_EMPTY, _EMPTY, _EMPTY)
        if placed.worker.rank is not None and (log := logs.get(placed.worker.rank)):
            done, speed = share_done(log.progress, symbols), Span(log_speed(live, log, now_s))
            of_log = (_log_state(live, log, now_s), done, speed)
        style = Style.DIM if placed.node in outdated else Style.PLAIN
        rows.append(_worker_row(live, placed, of_log, style, now_s))
    return _table("Workers", _WORKER, rows, width)


def _worker_row(
    live: LiveTask, placed: NodeWorker, of_log: tuple[Span, Span, Span], style: Style, now_s: float
) -> tuple[Span, ...]:
    worker, (used, memory) = placed.worker, gpu_use(placed, live.reports)
    state, done, speed = of_log

    def plain(text: str) -> Span:
        return Span(text, style)

    return (
        plain(worker_name(worker)),
        plain(placed.node if len(live.reports) > 1 else ""),
        plain(str(worker.pid or "")),
        Span(f"{status_text(worker.status):<{_STATUS}}", _STYLES.get(worker.status, Style.PLAIN)),
        state,
        done,
        plain(",".join(map(str, worker.gpus))),
        plain(percent(used)),
        _marks(gpus_of(placed, live.reports)),
        plain(text_of(memory, size)),
        speed,
        plain(percent(worker.cpu_percent)),
        plain(text_of(worker.memory, size)),
        plain(_last_activity(placed, now_s)),
        plain(text_of(placed.uptime_s, span)),
        plain(str(worker.children)),
        plain(str(worker.threads or "")),
    )


def _log_state(live: LiveTask, worker: WorkerProgress, now_s: float) -> Span:
    """Return what a worker does by its log, unless that is only what its status says, too."""
    state = state_span(live, worker, now_s)
    return _EMPTY if state.text == WorkerState.RUNNING else state


def _last_activity(placed: NodeWorker, now_s: float) -> str:
    return text_of(placed.worker.last_activity_s, lambda at_s: f"{age(max(0.0, now_s - at_s))} ago")


def _nodes(reports: Sequence[AgentReport], now_s: float, width: int) -> tuple[Line, list[Line]]:
    return _table("Nodes", _NODE, [_node_row(each, now_s) for each in reports], width)


def _node_row(report: AgentReport, now_s: float) -> tuple[Span, ...]:
    node, cpu = report.latest.node, report.latest.cpu
    style, silence = Style.PLAIN, _EMPTY
    if not is_current(report, now_s):
        style, silence = Style.DIM, Span(silence_text(report, now_s), Style.ATTENTION)
    return (
        Span(node.name, style),
        Span(memory_text([report]), attention(when=is_memory_scarce([report]))),
        Span(cpu_text(cpu), attention(when=cpu is not None and is_throttled(cpu))),
        Span(text_of(node.load, "{:.1f}".format), style),
        Span(percent(node.io_wait_percent), attention(when=(node.io_wait_percent or 0.0) >= _HIGH_IO_WAIT)),
        Span(network_text(report.latest), style),
        silence,
    )


_TASK_BAR = 16
_LOG_STYLES = {
    WorkerState.RUNNING: Style.ACTIVE,
    WorkerState.SILENT: Style.ATTENTION,
    WorkerState.FINISHED: Style.GOOD,
}
_NUMBER = re.compile(r"\d+")


def _worker_lines(live: LiveTask, now_s: float, symbols: Symbols) -> Iterator[Line]:
    """Yield a line for each log of a worker, the silent ones first."""
    workers = live.progress.workers
    if len(workers) < 2:  # noqa: PLR2004 - of one worker, the page shows everything
        return
    width = max(map(text_width, workers))
    stated = {name: state_span(live, worker, now_s) for name, worker in workers.items()}
    state_width = max(len(doing.text) for doing in stated.values())
    for name in sorted(workers, key=lambda name: stated[name].style is not _LOG_STYLES[WorkerState.SILENT]):
        padded = name + " " * (width - text_width(name))
        doing = stated[name]._replace(text=f"{stated[name].text:<{state_width}}")
        yield Span(f"  {padded}  "), doing, Span("  "), *_figures(live, workers[name], now_s, symbols)


def _state(live: LiveTask, worker: WorkerProgress, now_s: float) -> WorkerState:
    return worker_state(worker, now_s, live.job.own_settings.stall_timeout_s)


def state_span(live: LiveTask, worker: WorkerProgress, now_s: float) -> Span:
    """Return what a worker does by its log; of a job that does not run, only that it finished."""
    state = _state(live, worker, now_s)
    if live.group is not StateGroup.RUNNING and state is not WorkerState.FINISHED:
        return _EMPTY
    text = f"silent for {age(now_s - worker.written_s)}" if state is WorkerState.SILENT else str(state)
    return Span(text, _LOG_STYLES[state])


def _figures(live: LiveTask, worker: WorkerProgress, now_s: float, symbols: Symbols) -> Iterator[Span]:
    yield share_done(worker.progress, symbols)
    if progress := worker.progress:
        counted = "" if progress.fraction is None else f"  {units(progress)}"
        yield Span(f"{counted}  {log_speed(live, worker, now_s)}")


def share_done(progress: Progress | None, symbols: Symbols, width: int = _BAR) -> Span:
    """Return how far a worker or task is by its log: a bar with the share, else the count."""
    if progress is None:
        return Span("no progress yet", Style.DIM)
    if progress.fraction is None:
        return Span(units(progress))
    return Span(f"{bar(progress.fraction, width, symbols)} {percentage(progress.fraction):>5}")


def log_speed(live: LiveTask, worker: WorkerProgress, now_s: float) -> str:
    """Return the speed of a worker by its log, unless it is silent."""
    if worker.progress is None or _state(live, worker, now_s) is WorkerState.SILENT:
        return ""
    return rate(worker_rate_per_s(worker), worker.progress.unit)


def logs_by_rank(live: LiveTask) -> dict[int, WorkerProgress]:
    """Return the log of each rank of which an agent knows the worker; empty unless all logs match.

    A log belongs to a rank if its name contains one number, and that is the rank.
    """
    ranks = [worker.rank for report in live.reports for worker in report.latest.workers]
    matched: dict[int, WorkerProgress] = {}
    for name, worker in live.progress.workers.items():
        numbers = [int(digits) for digits in _NUMBER.findall(name)]
        if len(numbers) != 1 or numbers[0] in matched or ranks.count(numbers[0]) != 1:
            return {}
        matched[numbers[0]] = worker
    return matched


def task_lines(tasks: Sequence[LiveTask], symbols: Symbols) -> Iterator[Line]:
    """Yield a line for each task of a job that has several."""
    if len(tasks) < 2:  # noqa: PLR2004 - of one task, the page shows everything
        return
    width = max(text_width(live.ref) for live in tasks)
    for live in tasks:
        remark, progress = note(live), live.progress.progress
        speed = rate(rate_per_s(live), progress.unit) if progress and not remark else ""
        shown = remark or share_done(progress, symbols, _TASK_BAR)
        yield Span(f"  {live.ref:<{width}}  "), shown, Span(f"  {speed}")
