"""The rows of ``jobmon show`` about what agents measured and what is wrong now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.model import clock, run_time_s
from jobmon.views.telemetry.figures import (
    gpu_marks_texts,
    gpus_text,
    memory_text,
    node_parts,
    percent,
    silence_text,
    status_text,
    worker_name,
    workers_text,
)
from jobmon.views.top.telemetry_lines import log_speed, logs_by_rank
from jobmon_core.domain.humanize import filled, joined, size, text_of
from jobmon_core.domain.node.telemetry.summary import all_workers, gpu_use, is_current, latest_reports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.console import Lines, Rows
    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.domain.logs.diagnosis.model import StepUsage
    from jobmon_core.domain.node.telemetry.model import AgentReport


_QUOTE = "| "
_WORKERS_SHOWN = 8


def _usage_rows(usage: StepUsage, live: LiveTask, now_s: float) -> Rows:
    elapsed_s = run_time_s(live.task, now_s)
    if usage.memory is not None:
        yield "memory", f"{size(usage.memory)}, as Slurm samples it (sstat)"
    if usage.cpu_s is not None and elapsed_s:
        yield "CPU", f"{usage.cpu_s / elapsed_s:.1f} cores on average (sstat)"


def problem_rows(live: LiveTask, now_s: float) -> Rows:
    """Yield what is wrong with a running task, with proof and advice, the worst first."""
    for event in live.ongoing:
        yield "problem", f"since {clock(event.since_s, now_s)}: {event.text or event.kind}"
        yield from (("problem", f"{_QUOTE}{line}") for line in event.evidence)
        if event.advice:
            yield "problem", event.advice.replace("JOBID", live.ref)


def _worker_texts(live: LiveTask, reports: Sequence[AgentReport], now_s: float) -> Lines:
    """Yield e.g. ``rank 0: running, GPU 0: 92%, 60.0 GiB, 2.5 items/s``."""
    workers, logs = all_workers(reports), logs_by_rank(live)
    for each in workers[:_WORKERS_SHOWN] if len(workers) > 1 else ():
        worker, (used, memory) = each.worker, gpu_use(each, reports)
        use = f"{percent(worker.cpu_percent) or '?'} CPU"
        if worker.gpus:
            use = f"GPU {','.join(map(str, worker.gpus))}: {percent(used) or '?'}"
        speed = log_speed(live, logs[worker.rank], now_s) if worker.rank in logs else ""
        parts = (status_text(worker.status), use, text_of(memory, size), speed)
        yield f"{worker_name(worker)}: {joined(*parts)}"
    if len(workers) > _WORKERS_SHOWN:
        yield f"and {len(workers) - _WORKERS_SHOWN} more; `jobmon top` shows all"


def telemetry_rows(live: LiveTask, now_s: float) -> Rows:
    """Yield what the latest reports of a task's agents show."""
    reports = latest_reports(live.reports, now_s)
    texts = {"GPUs": gpus_text(reports), "memory": memory_text(reports), "workers": workers_text(reports)}
    yield from ((name, text) for name, text in texts.items() if text)
    yield from (("GPUs", text) for text in gpu_marks_texts(reports))
    yield from (("workers", text) for text in _worker_texts(live, reports, now_s))
    if not live.reports and live.agents.problem:
        yield "agent", f"none: {live.agents.problem}"
    if usage := live.agents.usage:
        yield from _usage_rows(usage, live, now_s)
    for report in live.reports:
        node = f"{report.latest.node.name}: " if len(live.reports) > 1 else ""
        if not is_current(report, now_s):
            why = filled(": {}", live.agents.problem)
            yield "agent", f"{node}{silence_text(report, now_s)}{why}"
        elif text := joined(*node_parts(report.latest)):
            yield "CPU", f"{node}{text}"
        if report.unavailable:
            yield "agent", f"{node}does not measure {'; '.join(report.unavailable)}"
