"""The report of a job as text, at most 80 columns wide except for long paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import stamp
from jobmon.views.notes import note_text
from jobmon.views.report import facts
from jobmon.views.table import Cell, Shrink, table_lines
from jobmon.views.top.drawing import sparkline
from jobmon_core.domain.report.series import tabulated
from jobmon_core.domain.report.timeline import loss_summary, throughput_series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon.views.console import Console
    from jobmon.views.top.drawing import Symbols
    from jobmon_core.app.jobs.report import ReportData

WIDTH = 80  # columns
_NAME_WIDTH = 10
_INDENT = "  "
_TIMELINE_WIDTH = 40
_GPUS_SHOWN, _EVENTS_SHOWN, _TASKS_SHOWN = 16, 20, 20
_NARROWEST = 8  # columns of the name of a node


def report_lines(data: ReportData, console: Console, symbols: Symbols) -> Iterator[str]:
    """Yield the lines of a report, the most important first."""
    style = {True: Style.GOOD, False: Style.BAD, None: Style.PLAIN}[facts.is_good(data)]
    yield console.bold(facts.heading(data))
    yield from (console.styled(line, style) for line in console.prose(facts.outcome(data)))
    yield from _verdict(data, console)
    yield from _pairs(facts.times(data), console)
    yield from _timeline(data, console, symbols)
    yield from _gpus(data, console)
    yield from _nodes(data, console)
    yield from _events(data, console)
    yield from _tasks(data, console)
    for note in data.user_notes:
        yield from ("", *console.prose(f"Note of {note_text(note)}"))
    for missing in facts.notes(data):
        yield from ("", *console.prose(missing))


def _verdict(data: ReportData, console: Console) -> Iterator[str]:
    found = facts.verdict(data)
    yield ""
    yield from (console.styled(line, Style.BOLD) for line in console.prose(found.headline))
    if found.explanation:
        yield from console.prose(found.explanation)
    if found.evidence:
        title = "Evidence:" if found.is_bad else "Result:"
        yield from ("", f"{title} {found.source}".rstrip())
        for line in found.evidence:
            yield from console.prose(line, _INDENT, _INDENT * 2)
    if found.advice:
        yield from ("", "What to do:", *console.advice(found.advice, _INDENT))
    yield ""


def _pairs(pairs: list[tuple[str, str]], console: Console) -> Iterator[str]:
    for name, value in pairs:
        if value:
            yield from console.prose(value, f"{name:<{_NAME_WIDTH}} ", " " * (_NAME_WIDTH + 1))


def _timeline(data: ReportData, console: Console, symbols: Symbols) -> Iterator[str]:
    """Yield the progress, the speed, the loss and other metrics, with sparklines of speed and loss."""
    history = data.progress.history
    yield from _pairs([("progress", facts.progress_text(data)), ("ETA", facts.eta_text(data))], console)
    rates = [point.mean for point in throughput_series(history, data.window).points]
    yield from _pairs([("speed", facts.pace_text(data))], console)
    yield from _drawn(sparkline(rates, _TIMELINE_WIDTH, symbols, lowest=0.0))
    yield from _pairs([("loss", facts.loss_text(data))], console)
    if summary := loss_summary(history):
        rows = tabulated([summary.series], data.window, _TIMELINE_WIDTH)
        yield from _drawn(sparkline([values[0] or 0.0 for _, values in rows], _TIMELINE_WIDTH, symbols))
    yield from _pairs([("metrics", facts.metrics_text(data))], console)


def _drawn(line: str) -> Iterator[str]:
    if line:
        yield " " * (_NAME_WIDTH + 1) + line


def _gpus(data: ReportData, console: Console) -> Iterator[str]:
    uses = data.gpu_uses
    if not uses:
        return
    yield from ("", console.styled(facts.gpu_text(uses), Style.BOLD))
    headers = ("NODE", "GPU", "BUSY mean/max", "MEMORY peak", "POWER mean/max", "ENERGY")
    rows = [
        [
            *(use.node, str(use.index), facts.pair(use.mean_percent, use.highest_percent, "%")),
            facts.of_total(use.memory_peak, use.memory_total),
            facts.pair(use.mean_power_w, use.highest_power_w, " W"),
            facts.energy(use.energy_kwh),
        ]
        for use in uses[:_GPUS_SHOWN]
    ]
    cells = [[Cell(text) for text in row] for row in rows]
    yield from table_lines(headers, cells, console, [Shrink(0, _NARROWEST)])
    if len(uses) > _GPUS_SHOWN:
        yield f"and {len(uses) - _GPUS_SHOWN} more; --html and --json show all"
    for use in uses:
        if use.notes:
            yield from console.prose(f"{use.node} GPU {use.index}: {', '.join(use.notes)}")


def _nodes(data: ReportData, console: Console) -> Iterator[str]:
    uses = data.node_uses
    if not uses:
        return
    headers = ("NODE", "CORES", "BUSY mean/max", "MEMORY peak", "NOTES")
    rows = [
        [
            *(use.name, "-" if use.cores is None else f"{use.cores:g}"),
            facts.pair(use.mean_cores, use.highest_cores, "", 1),
            facts.of_total(use.memory_peak, use.memory_limit),
            ", ".join(facts.node_notes(use)),
        ]
        for use in uses
    ]
    yield ""
    cells = [[Cell(text) for text in row] for row in rows]
    yield from table_lines(headers, cells, console, [Shrink(0, _NARROWEST), Shrink(4, 10)])


def _events(data: ReportData, console: Console) -> Iterator[str]:
    shown = data.events[-_EVENTS_SHOWN:]
    if not shown:
        return
    hidden = len(data.events) - len(shown)
    yield from ("", f"Events, the latest {len(shown)} of {len(data.events)}:" if hidden else "Events:")
    for event in shown:
        before = f"{_INDENT}{facts.elapsed(event.at_s, data):>7}  {stamp(event.at_s, '%m-%d %H:%M')}  "
        yield from console.prose(event.text, before, " " * len(before))


def _tasks(data: ReportData, console: Console) -> Iterator[str]:
    rows = facts.task_rows(data)
    if not rows:
        return
    yield from ("", f"{len(rows)} tasks; this report is about {data.live.ref}:")
    cells = [[Cell(text) for text in row] for row in rows[:_TASKS_SHOWN]]
    yield from table_lines(("TASK", "STATE", "RAN", "CAUSE"), cells, console, [Shrink(3, 10), Shrink(1, 10)])
    if more := facts.tasks_not_shown(data, _TASKS_SHOWN):
        yield more
