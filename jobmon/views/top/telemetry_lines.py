"""What agents measured, on the page of a task: its GPUs, workers and nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import age, span
from jobmon.views.telemetry.figures import (
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
from jobmon.views.top.drawing import Column, Section, Span, bar, table, titled
from jobmon.views.top.job_list import note, rate_per_s
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.domain.humanize import rate, size
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
    from collections.abc import Callable, Iterator, Sequence

    from jobmon.views.top.drawing import Line, Symbols
    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.domain.logs.progress.model import Progress, WorkerProgress
    from jobmon_core.domain.node.telemetry.model import AgentReport, Gpu, Sample
    from jobmon_core.domain.node.telemetry.summary import NodeGpu, NodeWorker


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


def _gpus(
    reports: Sequence[AgentReport], now_s: float, width: int, symbols: Symbols
) -> tuple[Line, list[Line]]:
    gpus, outdated = all_gpus(reports), _outdated(reports, now_s)

    def column(header: str, text_of: Callable[[Gpu], str], importance: int) -> Column:
        cells = [Span(text_of(each.gpu), _style(each, outdated)) for each in gpus]
        return Column(header, cells, importance, is_right_aligned=True)

    several = len(reports) > 1
    names = [Span(f"{each.node} {each.gpu.index}" if several else str(each.gpu.index)) for each in gpus]
    columns = [
        Column("", names, 0),
        Column("", [_utilization_bar(each, outdated, symbols) for each in gpus], 5),
        column("UTIL", _utilization, 9),
        column("SM", lambda gpu: percent(gpu.sm_percent), 3),
        column("MEMORY", gpu_memory, 8),
        column("POWER", lambda gpu: power(gpu.power_w), 7),
        column("TEMP", temperature, 4),
        Column("", [_marks([each.gpu]) for each in gpus], 6),
    ]
    return table("GPUs", columns, width)


def _outdated(reports: Sequence[AgentReport], now_s: float) -> set[str]:
    return {each.latest.node.name for each in reports if not is_current(each, now_s)}


def _style(placed: NodeGpu | NodeWorker, outdated: set[str]) -> Style:
    return Style.DIM if placed.node in outdated else Style.PLAIN


def _utilization_bar(placed: NodeGpu, outdated: set[str], symbols: Symbols) -> Span:
    used = placed.gpu.utilization_percent
    if used is None:
        return _EMPTY
    style = Style.DIM if placed.node in outdated else Style.ACTIVE
    return Span(bar(used / 100, _BAR, symbols), style)


def _utilization(gpu: Gpu) -> str:
    return percent(gpu.utilization_percent) or ("MIG" if gpu.is_mig else "?")


def _marks(gpus: Sequence[Gpu]) -> Span:
    is_broken = any(gpu.is_lost or gpu.xids or gpu.ecc_errors for gpu in gpus)
    marks = dict.fromkeys(mark for gpu in gpus for mark in gpu_marks(gpu))
    return Span(", ".join(marks), Style.BAD if is_broken else Style.ATTENTION)


def _workers(live: LiveTask, now_s: float, width: int, symbols: Symbols) -> tuple[Line, list[Line]]:
    workers, reports = all_workers(live.reports), live.reports
    outdated = _outdated(reports, now_s)

    def column(
        header: str, text_of: Callable[[NodeWorker], str], importance: int, *, is_right_aligned: bool = True
    ) -> Column:
        cells = [Span(text_of(each), _style(each, outdated)) for each in workers]
        return Column(header, cells, importance, is_right_aligned)

    def of_log(header: str, span_of: Callable[[WorkerProgress], Span], importance: int) -> Column:
        logs, ranks = logs_by_rank(live), [each.worker.rank for each in workers]
        own = [None if rank is None else logs.get(rank) for rank in ranks]
        return Column(header, [span_of(each) if each else _EMPTY for each in own], importance)

    columns = [
        column("", lambda each: worker_name(each.worker), 99, is_right_aligned=False),
        column("NODE", lambda each: each.node if len(reports) > 1 else "", 5, is_right_aligned=False),
        column("PID", lambda each: str(each.worker.pid or ""), 6),
        Column("STATUS", [_status(each) for each in workers], 15),
        of_log("LOG", lambda each: _log_state(live, each, now_s), 14),
        of_log("PROGRESS", lambda each: share_done(each.progress, symbols), 13),
        column("GPU", lambda each: ",".join(map(str, each.worker.gpus)), 12),
        column("UTIL", lambda each: percent(gpu_use(each, reports)[0]), 11),
        Column("", [_marks(gpus_of(each, reports)) for each in workers], 10),
        column("GPU MEM", lambda each: _size(gpu_use(each, reports)[1]), 10),
        of_log("SPEED", lambda each: Span(log_speed(live, each, now_s)), 9),
        column("CPU", lambda each: percent(each.worker.cpu_percent), 8),
        column("MEMORY", lambda each: _size(each.worker.memory), 7),
        column("ACTIVE", lambda each: _last_activity(each, now_s), 4),
        column("UP", lambda each: "" if each.uptime_s is None else span(each.uptime_s), 2),
        column("CHILDREN", lambda each: str(each.worker.children), 1),
        column("THREADS", lambda each: str(each.worker.threads or ""), 0),
    ]
    return table("Workers", columns, width)


def _status(placed: NodeWorker) -> Span:
    status = placed.worker.status
    return Span(f"{status_text(status):<{_STATUS}}", _STYLES.get(status, Style.PLAIN))


def _log_state(live: LiveTask, worker: WorkerProgress, now_s: float) -> Span:
    """Return what a worker does by its log, unless that is only what its status says, too."""
    state = state_span(live, worker, now_s)
    if state.text == WorkerState.RUNNING:
        return _EMPTY
    return state


def _size(count_bytes: float | None) -> str:
    return "" if count_bytes is None else size(count_bytes)


def _last_activity(placed: NodeWorker, now_s: float) -> str:
    at_s = placed.worker.last_activity_s
    if at_s is None:
        return ""
    return f"{age(max(0.0, now_s - at_s))} ago"


def _nodes(reports: Sequence[AgentReport], now_s: float, width: int) -> tuple[Line, list[Line]]:
    styles = [Style.PLAIN if is_current(each, now_s) else Style.DIM for each in reports]

    def styled(text_of: Callable[[Sample], str]) -> list[Span]:
        return [Span(text_of(each.latest), style) for each, style in zip(reports, styles, strict=True)]

    columns = [
        Column("", styled(lambda each: each.node.name), 0),
        Column("MEMORY", [_task_memory(each) for each in reports], 8),
        Column("CPU", [_cpu(each) for each in reports], 7),
        Column("LOAD", styled(_load), 4, is_right_aligned=True),
        Column("I/O WAIT", [_io_wait(each) for each in reports], 5, is_right_aligned=True),
        Column("NETWORK", styled(network_text), 3),
        Column("", [_silence(each, now_s) for each in reports], 9),
    ]
    return table("Nodes", columns, width)


def _task_memory(report: AgentReport) -> Span:
    return Span(memory_text([report]), _warning(when=is_memory_scarce([report])))


def _cpu(report: AgentReport) -> Span:
    cpu = report.latest.cpu
    return Span(cpu_text(cpu), _warning(when=cpu is not None and is_throttled(cpu)))


def _load(sample: Sample) -> str:
    load = sample.node.load
    return "" if load is None else f"{load:.1f}"


def _io_wait(report: AgentReport) -> Span:
    waiting = report.latest.node.io_wait_percent
    return Span(percent(waiting), _warning(when=(waiting or 0.0) >= _HIGH_IO_WAIT))


def _warning(*, when: bool) -> Style:
    return Style.ATTENTION if when else Style.PLAIN


def _silence(report: AgentReport, now_s: float) -> Span:
    if is_current(report, now_s):
        return _EMPTY
    return Span(silence_text(report, now_s), Style.ATTENTION)


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
