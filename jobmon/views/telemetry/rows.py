"""The rows of ``jobmon show`` about what agents measured and what is wrong now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.model import clock
from jobmon.views.telemetry.figures import (
    gpu_marks_texts,
    gpus_text,
    memory_text,
    node_parts,
    silence_text,
    workers_text,
)
from jobmon_core.domain.telemetry.summary import is_current, latest_reports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.app.live.tasks import LiveTask

_QUOTE = "| "


def problem_rows(live: LiveTask, now_s: float) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a running task now, with the proof and the advice, the worst first."""
    for event in live.ongoing:
        yield "problem", f"since {clock(event.at_s, now_s)}: {event.text or event.kind}"
        yield from (("problem", f"{_QUOTE}{line}") for line in event.evidence)
        if event.advice:
            yield "problem", event.advice.replace("JOBID", live.ref)


def telemetry_rows(live: LiveTask, now_s: float) -> Iterator[tuple[str, str]]:
    """Yield what the latest reports of a task's agents show."""
    reports = latest_reports(live.reports, now_s)
    texts = {"GPUs": gpus_text(reports), "memory": memory_text(reports), "workers": workers_text(reports)}
    yield from ((name, text) for name, text in texts.items() if text)
    yield from (("GPUs", text) for text in gpu_marks_texts(reports))
    several = len(live.reports) > 1
    if not live.reports and live.agents.problem:
        yield "agent", f"none: {live.agents.problem}"
    for report in live.reports:
        node = f"{report.latest.node.name}: " if several else ""
        if not is_current(report, now_s):
            why = f": {live.agents.problem}" if live.agents.problem else ""
            yield "agent", f"{node}{silence_text(report, now_s)}{why}"
        elif text := ", ".join(filter(None, node_parts(report.latest))):
            yield "CPU", f"{node}{text}"
        if report.unavailable:
            yield "agent", f"{node}does not measure {'; '.join(report.unavailable)}"
