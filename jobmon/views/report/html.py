"""The report of a job as one HTML page that needs no network, no JavaScript and no other file."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from jobmon.views.model import stamp
from jobmon.views.notes import note_text
from jobmon.views.report import facts
from jobmon.views.report.chart import figure_html
from jobmon.views.report.charts import charts, marks
from jobmon.views.report.style import CSS
from jobmon.views.text_width import sentences
from jobmon_core import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobmon.views.report.chart import Mark
    from jobmon_core.app.jobs.report import ReportData
    from jobmon_core.domain.progress.events.event import Event
    from jobmon_core.domain.report.usage import NodeUse

# whatever a log contains, the page loads and runs nothing where it is opened
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_CODE = re.compile(r"`([^`]*)`")
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_MAX_EVENTS, _MAX_TASKS = 100, 500
_STATES = {True: "good", False: "bad", None: ""}


def report_html(data: ReportData) -> str:
    """Return the page: a polyglot of HTML and XML, so that any parser can check it."""
    found = marks(data)
    title = f"{facts.heading(data)}: {facts.outcome(data)}"
    parts = (
        '<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml">\n<head>',
        '<meta charset="utf-8"/>',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        f"<title>{escape(title)}</title>\n<style>\n{CSS}</style>\n</head>\n<body>",
        *_header(data),
        "<main>",
        *_verdict(data),
        *_tiles(data),
        *_charts(data, found),
        *_events(data, found),
        *_tables(data),
        *_notes(data),
        "</main>",
        f"<footer>Written by jobmon {escape(__version__)} at {stamp(data.now_s)}.</footer>",
        "</body>\n</html>\n",
    )
    return _NOT_TEXT.sub(" ", "\n".join(parts))


def _header(data: ReportData) -> Iterator[str]:
    yield f"<header><h1>{escape(facts.heading(data))}</h1>"
    yield f'<span class="state {_STATES[facts.is_good(data)]}">{escape(facts.outcome(data))}</span>'
    job = data.job
    where = (
        f"partition {job.partition}" if job.partition else "",
        f"cluster {job.cluster}" if job.cluster else "",
    )
    if any(where):
        yield f"<p>{escape(', '.join(filter(None, where)))}</p>"
    yield "</header>"


def _verdict(data: ReportData) -> Iterator[str]:
    found = facts.verdict(data)
    yield f'<section class="card{" bad" if found.is_bad else ""}"><h3>{escape(found.headline)}</h3>'
    if found.explanation:
        yield f"<p>{_prose(found.explanation)}</p>"
    if found.evidence:
        if found.source:
            yield f'<p class="source">{escape(found.source)}</p>'
        yield f"<pre>{escape(chr(10).join(found.evidence))}</pre>"
    if steps := sentences(found.advice):
        yield "<p><b>What to do</b></p>"
        kind = "ol" if len(steps) > 1 else "ul"
        yield f"<{kind}>{''.join(f'<li>{_prose(step)}</li>' for step in steps)}</{kind}>"
    yield "</section>"


def _prose(text: str) -> str:
    """Return a text with what is in backquotes as code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _tiles(data: ReportData) -> Iterator[str]:
    figures = [
        *facts.times(data),
        ("progress", facts.progress_text(data)),
        ("ETA", facts.eta_text(data)),
        ("speed", facts.pace_text(data)),
        ("loss", facts.loss_text(data)),
        ("metrics", facts.metrics_text(data)),
        ("GPUs", facts.gpu_text(data.gpu_uses)),
    ]
    cells = (f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>" for name, value in figures if value)
    yield f'<dl class="tiles">{"".join(cells)}</dl>'


def _charts(data: ReportData, found: Sequence[Mark]) -> Iterator[str]:
    drawn = [figure for chart in charts(data) if (figure := figure_html(chart, data.window, found))]
    if drawn:
        start = stamp(data.window.start_s)
        yield f'<h2>Over the run</h2><p class="source">Time since the start, {start}.</p>'
    yield from drawn


def _events(data: ReportData, found: Sequence[Mark]) -> Iterator[str]:
    if not data.events:
        return
    numbered = dict(zip(map(id, facts.marked_events(data)), found, strict=True))
    shown = data.events[-_MAX_EVENTS:]
    which = f", the latest {len(shown)} of {len(data.events)}" if len(shown) < len(data.events) else ""
    yield f'<h2>Events{which}</h2><ol class="events">'
    for event in shown:
        yield _event(event, numbered.get(id(event)), data)
    yield "</ol>"


def _event(event: Event, mark: Mark | None, data: ReportData) -> str:
    tone, number = (mark.tone, str(mark.number)) if mark else ("", "")
    at = f'<time title="{stamp(event.at_s)}">{facts.elapsed(event.at_s, data)}</time>'
    evidence = f"<pre>{escape(chr(10).join(event.evidence))}</pre>" if event.evidence else ""
    ref = str(data.live.ref)
    advice = f"<small>{_prose(event.advice.replace('JOBID', ref))}</small>" if event.advice else ""
    text = f"<div><p>{escape(event.text)}</p>{advice}{evidence}</div>"
    return f'<li class="{tone}"><b>{number}</b>{at}{text}</li>'


def _tables(data: ReportData) -> Iterator[str]:
    if uses := data.gpu_uses:
        names = ("Node", "GPU", "Model", "Busy mean/max", "Memory peak", "Power mean/max", "Energy", "Notes")
        rows = [
            [
                *(use.node, str(use.index), use.name),
                facts.pair(use.mean_percent, use.highest_percent, "%"),
                facts.of_total(use.memory_peak, use.memory_total),
                facts.pair(use.mean_power_w, use.highest_power_w, " W"),
                facts.energy(use.energy_kwh),
                ", ".join(use.notes),
            ]
            for use in uses
        ]
        yield from _table("GPUs", names, rows)
    if data.nodes:
        headers = ("Node", "Cores", "Busy mean/max", "Memory peak", "Notes")
        yield from _table("Nodes", headers, map(_node_row, data.node_uses))
    if rows := [list(row) for row in facts.task_rows(data)[:_MAX_TASKS]]:
        title = f"{len(data.tasks)} tasks; this report is about {data.live.ref}"
        yield from _table(title, ("Task", "State", "Ran", "Cause"), rows)
        if more := facts.tasks_not_shown(data, _MAX_TASKS):
            yield f"<p>{_prose(more)}</p>"


def _node_row(use: NodeUse) -> list[str]:
    return [
        *(use.name, "-" if use.cores is None else f"{use.cores:g}"),
        facts.pair(use.mean_cores, use.highest_cores, "", 1),
        facts.of_total(use.memory_peak, use.memory_limit),
        ", ".join(facts.node_notes(use)),
    ]


def _table(title: str, names: Iterable[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f'<h2>{escape(title)}</h2><div class="scroll"><table class="words"><thead><tr>'
    yield "".join(f'<th scope="col">{name}</th>' for name in names)
    yield "</tr></thead><tbody>"
    for row in rows:
        yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
    yield "</tbody></table></div>"


def _notes(data: ReportData) -> Iterator[str]:
    if data.user_notes:
        items = "".join(f"<li>{escape(note_text(note))}</li>" for note in data.user_notes)
        yield f"<h2>Notes</h2><ul>{items}</ul>"
    if found := facts.notes(data):
        items = "".join(f"<li>{escape(note)}</li>" for note in found)
        yield f"<h2>What is missing</h2><ul>{items}</ul>"
