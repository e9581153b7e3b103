"""The report of a job as text, at most 80 columns wide except for long paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.diagnosis import note_text
from jobmon.views.model import stamp
from jobmon.views.report import facts
from jobmon.views.table import table_lines
from jobmon.views.top.drawing import sparkline
from jobmon_core.domain.finding import Severity
from jobmon_core.domain.job.efficiency.advice import activity_text
from jobmon_core.domain.job.history.record import gpu_busy_s
from jobmon_core.domain.job.report.series import loss_summary, tabulated, throughput_series

if TYPE_CHECKING:
    from jobmon.views.console import Console, Lines
    from jobmon.views.top.drawing import Symbols
    from jobmon_core.app.jobs.report import ReportData


WIDTH = 80  # columns
_NAME_WIDTH = 10
_INDENT = "  "
_TIMELINE_WIDTH = 40
_GPUS_SHOWN, _EVENTS_SHOWN, _TASKS_SHOWN = 16, 20, 20
_NARROWEST = 8  # columns of the name of a node


def report_lines(data: ReportData, console: Console, symbols: Symbols) -> Lines:
    """Yield the lines of a report, the most important first."""
    style = {True: Style.GOOD, False: Style.BAD, None: Style.PLAIN}[facts.is_good(data)]
    yield console.bold(facts.heading(data))
    yield from console.heading(facts.outcome(data), style)
    yield from _verdict(data, console)
    yield from console.rows(facts.times(data), _NAME_WIDTH)
    drawn = _sparklines(data, symbols)
    for name, value in facts.figures_of(data):
        if value:
            yield from console.rows([(name, value)], _NAME_WIDTH)
        if drawn.get(name):
            yield " " * (_NAME_WIDTH + 1) + drawn[name]
    yield from _gpus(data, console)
    yield from _nodes(data, console)
    yield from _events(data, console)
    yield from _tasks(data, console)
    for note in data.user_notes:
        yield from ("", *console.prose(f"Note of {note_text(note)}"))
    for missing in facts.notes(data):
        yield from ("", *console.prose(missing))


def _verdict(data: ReportData, console: Console) -> Lines:
    found = facts.verdict(data)
    yield ""
    yield from console.heading(found.title)
    if found.text:
        yield from console.prose(found.text)
    if found.evidence:
        title = "Evidence:" if found.severity is Severity.CRITICAL else "Result:"
        yield from ("", f"{title} {facts.source(data)}".rstrip())
        for line in found.evidence:
            yield from console.prose(line, _INDENT, _INDENT * 2)
    if found.advice:
        yield from ("", "What to do:", *console.advice(found.advice, _INDENT))
    yield ""


def _sparklines(data: ReportData, symbols: Symbols) -> dict[str, str]:
    history, summary = data.progress.history, loss_summary(data.progress.history)
    rates = [point.mean for point in throughput_series(history, data.window).points]
    rows = []
    if summary:
        rows = tabulated([summary.series], data.window, _TIMELINE_WIDTH)
    losses = [values[0] or 0.0 for _, values in rows]
    return {
        "speed": sparkline(rates, _TIMELINE_WIDTH, symbols, lowest=0.0),
        "loss": sparkline(losses, _TIMELINE_WIDTH, symbols),
    }


def _gpus(data: ReportData, console: Console) -> Lines:
    uses = data.gpu_uses
    if not uses:
        return
    yield from ("", console.styled(facts.gpu_text(uses), Style.BOLD))
    if activity := activity_text([gpu_busy_s(data.nodes)[0]]):
        yield f"activity: {activity}"
    headers = ("NODE", "GPU", "BUSY mean/max", "MEMORY peak", "POWER mean/max", "ENERGY")
    rows = [(use.node, str(use.index), *facts.gpu_row(use)) for use in uses[:_GPUS_SHOWN]]
    yield from table_lines(headers, rows, console, [(0, _NARROWEST)])
    if len(uses) > _GPUS_SHOWN:
        yield f"and {len(uses) - _GPUS_SHOWN} more; --html and --json show all"
    for use in uses:
        if use.notes:
            yield from console.prose(f"{use.node} GPU {use.index}: {', '.join(use.notes)}")


def _nodes(data: ReportData, console: Console) -> Lines:
    uses = data.node_uses
    if not uses:
        return
    headers = ("NODE", "CORES", "BUSY mean/max", "MEMORY peak", "NOTES")
    yield ""
    steps = [(0, _NARROWEST), (4, 10)]
    yield from table_lines(headers, [*map(facts.node_row, uses)], console, steps)


def _events(data: ReportData, console: Console) -> Lines:
    shown = data.events[-_EVENTS_SHOWN:]
    if not shown:
        return
    hidden = len(data.events) - len(shown)
    yield from ("", f"Events, the latest {len(shown)} of {len(data.events)}:" if hidden else "Events:")
    for event in shown:
        before = f"{_INDENT}{facts.elapsed(event.at_s, data):>7}  {stamp(event.at_s, '%m-%d %H:%M')}  "
        yield from console.prose(event.text, before, " " * len(before))


def _tasks(data: ReportData, console: Console) -> Lines:
    rows = facts.task_rows(data)
    if not rows:
        return
    yield from ("", f"{facts.tasks_title(data)}:")
    steps = [(3, 10), (1, 10)]
    yield from table_lines(("TASK", "STATE", "RAN", "CAUSE"), rows[:_TASKS_SHOWN], console, steps)
    if more := facts.tasks_not_shown(data, _TASKS_SHOWN):
        yield more
