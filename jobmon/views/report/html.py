"""The report of a job as one HTML page that needs no network, no JavaScript and no other file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.diagnosis import note_text
from jobmon.views.model import stamp
from jobmon.views.report import facts
from jobmon.views.report.chart import figure_html, tone
from jobmon.views.report.charts import charts
from jobmon.views.report.history import busy_html, pace_html, time_html
from jobmon.views.report.marks import PATTERNS
from jobmon.views.report.page import page_html, prose, table, tiles
from jobmon.views.text_width import sentences
from jobmon_core.domain.finding import Severity
from jobmon_core.domain.humanize import count
from jobmon_core.domain.visible_text import in_html

if TYPE_CHECKING:
    from jobmon.views.console import Lines
    from jobmon_core.app.jobs.report import ReportData
    from jobmon_core.domain.logs.progress.events.event import Event


_MAX_EVENTS, _MAX_TASKS = 100, 500
_STATES = {True: "good", False: "bad", None: ""}


def report_html(data: ReportData) -> str:
    """Return the page."""
    title = f"{facts.heading(data)}: {facts.outcome(data)}"
    body = (*_header(data), "<main>", *report_sections(data), "</main>")
    return page_html(title, body, data.now_s)


def report_sections(data: ReportData) -> Lines:
    """Yield what follows the heading."""
    yield from _verdict(data)
    yield from _tasks(data)
    yield from _tiles(data)
    yield from _charts(data)
    yield from _alike(data)
    yield from _events(data)
    yield from _tables(data)
    yield from _notes(data)


def _header(data: ReportData) -> Lines:
    yield f"<header><h1>{in_html(facts.heading(data))}</h1>"
    yield f'<span class="state {_STATES[facts.is_good(data)]}">{in_html(facts.outcome(data))}</span>'
    job = data.job
    named = {"partition": job.partition, "cluster": job.cluster}
    if where := ", ".join(f"{name} {value}" for name, value in named.items() if value):
        yield f"<p>{in_html(where)}</p>"
    yield "</header>"


def _verdict(data: ReportData) -> Lines:
    found, source = facts.verdict(data), facts.source(data)
    bad = " bad" if found.severity is Severity.CRITICAL else ""
    yield f'<section class="card{bad}"><h2>{in_html(found.title)}</h2>'
    if found.text:
        yield f"<p>{prose(found.text)}</p>"
    if found.evidence:
        if source:
            yield f'<p class="source">{in_html(source)}</p>'
        yield f"<pre>{in_html(chr(10).join(found.evidence))}</pre>"
    if steps := sentences(found.advice):
        yield "<p><b>What to do</b></p>"
        kind = "ul"
        if len(steps) > 1:
            kind = "ol"
        yield f"<{kind}>{''.join(f'<li>{prose(step)}</li>' for step in steps)}</{kind}>"
    yield "</section>"


def _tiles(data: ReportData) -> Lines:
    figures = [*facts.times(data), *facts.figures_of(data), ("GPUs", facts.gpu_text(data.gpu_uses))]
    yield tiles((name, value) for name, value in figures if value)


def _charts(data: ReportData) -> Lines:
    marked = facts.marked_events(data)
    drawn = [figure for chart in charts(data) if (figure := figure_html(chart, data.window, marked))]
    if drawn:
        start = stamp(data.window.start_s)
        yield f'<h2>Over the run</h2><p class="source">Time since the start, {start}.</p>'
        yield f'<div class="charts">{"".join(drawn)}</div>'


def _alike(data: ReportData) -> Lines:
    """Yield this run among earlier ones of its name, and how busy its GPUs were."""
    this = facts.record_now(data)
    figures, title = [busy_html([this.gpu_busy_s])], "Use of its GPUs"
    if data.alike:
        runs = (this, *data.alike)
        figures = [pace_html(runs, this), *figures, time_html(runs, this)]
        title = f"Among the last {count(len(runs), 'run')} of its name"
    if any(figures):
        yield f'{PATTERNS}<h2>{title}</h2><div class="figures">'
        yield from figures
        yield "</div>"


def _events(data: ReportData) -> Lines:
    if not data.events:
        return
    numbers = {id(event): number for number, event in enumerate(facts.marked_events(data), 1)}
    shown = data.events[-_MAX_EVENTS:]
    which = ""
    if len(shown) < len(data.events):
        which = f", the latest {len(shown)} of {len(data.events)}"
    yield f'<h2>Events{which}</h2><ol class="events">'
    for event in shown:
        yield _event(event, numbers.get(id(event)), data)
    yield "</ol>"


def _event(event: Event, number: int | None, data: ReportData) -> str:
    at = f'<time title="{stamp(event.at_s)}">{facts.elapsed(event.at_s, data)}</time>'
    evidence = ""
    if event.evidence:
        evidence = f"<pre>{in_html(chr(10).join(event.evidence))}</pre>"
    ref = str(data.live.ref)
    advice = ""
    if event.advice:
        advice = f"<small>{prose(event.advice.replace('JOBID', ref))}</small>"
    text = f"<div><p>{in_html(event.text)}</p>{advice}{evidence}</div>"
    return f'<li class="{tone(event) if number else ""}"><b>{number or ""}</b>{at}{text}</li>'


def _tables(data: ReportData) -> Lines:
    if uses := data.gpu_uses:
        names = ("Node", "GPU", "Model", "Busy mean/max", "Memory peak", "Power mean/max", "Energy", "Notes")
        rows = [
            (use.node, str(use.index), use.name, *facts.gpu_row(use), ", ".join(use.notes)) for use in uses
        ]
        yield from table("GPUs", names, rows)
    if data.nodes:
        headers = ("Node", "Cores", "Busy mean/max", "Memory peak", "Notes")
        yield from table("Nodes", headers, map(facts.node_row, data.node_uses))


def _tasks(data: ReportData) -> Lines:
    if rows := facts.task_rows(data)[:_MAX_TASKS]:
        yield from table(facts.tasks_title(data), ("Task", "State", "Ran", "Cause"), rows)
        if more := facts.tasks_not_shown(data, _MAX_TASKS):
            yield f"<p>{prose(more)}</p>"


def _notes(data: ReportData) -> Lines:
    lists = {"Notes": map(note_text, data.user_notes), "What is missing": facts.notes(data)}
    for title, texts in lists.items():
        if items := "".join(f"<li>{in_html(text)}</li>" for text in texts):
            yield f"<h2>{title}</h2><ul>{items}</ul>"
