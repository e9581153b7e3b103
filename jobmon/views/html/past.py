"""The pages about ended runs: the history, filtered by its address, and the nodes that they ran on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.history import NO_RUNS, total_columns
from jobmon.views.html import parts
from jobmon.views.report.history import about, column_title, history_sections
from jobmon.views.report.page import prose, table
from jobmon_core.domain.job.history.totals import BY
from jobmon_core.domain.visible_text import in_html

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon.views.console import Lines
    from jobmon_core.app.history.look import Nodes, Overview

PERIODS = {"": "ever", "7d": "7 days", "30d": "30 days", "90d": "90 days", "365d": "a year"}
_TEXTS = {"name": "train*", "group": "sweep*", "state": "failure", "cause": "cuda*", "node": "gpu01"}


def history_page(data: Overview, query: Mapping[str, str], visitor: parts.Visitor) -> str:
    """Return the page of the history; ``query`` are the filters in its address."""
    return parts.site_page("History", "History", _history(data, query), visitor)


def _history(data: Overview, query: Mapping[str, str]) -> Lines:
    yield parts.heading("History", f'<p class="soft">{in_html(about(data))}</p>')
    yield '<form class="filter left" action="/history" method="get">'
    for name, example in _TEXTS.items():
        yield f'<label for="f-{name}">{name.capitalize()}</label><input id="f-{name}" name="{name}"'
        yield f' value="{in_html(query.get(name, ""))}" placeholder="{example}" size="9"/>'
    yield _choice("since", "In", PERIODS, query)
    yield _choice("by", "By", {"": "-", **{each: each for each in BY}}, query)
    yield '<button type="submit">Show</button> <a href="/history">All runs</a></form>'
    yield from history_sections(data)


def _choice(name: str, label: str, choices: Mapping[str, str], query: Mapping[str, str]) -> str:
    chosen = query.get(name, "")
    options = "".join(
        f'<option value="{value}"{_SELECTED if value == chosen else ""}>{text}</option>'
        for value, text in choices.items()
    )
    return f'<label for="f-{name}">{label}</label><select id="f-{name}" name="{name}">{options}</select>'


_SELECTED = ' selected="selected"'


def nodes_page(found: Nodes, days: float, visitor: parts.Visitor) -> str:
    """Return the page of the nodes on which runs ended in so many days."""
    return parts.site_page("Nodes", "Nodes", _nodes(found, days), visitor)


def _nodes(found: Nodes, days: float) -> Lines:
    yield parts.heading("Nodes", f'<p class="soft">your runs of the last {days:.0f} days</p>')
    if not found.totals:
        yield parts.empty(prose(NO_RUNS))
        return
    if found.suspects:
        yield '<ul class="findings">'
        for each in found.suspects:
            advice = f"Avoid it with `{each.option}`, and tell your administrators."
            yield (
                '<li class="warn"><b aria-hidden="true">▲</b><span class="unseen">Warning: </span>'
                f'<p class="who">{in_html(each.node)}</p><div><p>{in_html(each.sentence)}</p>'
                f'<p class="advice">{prose(advice)}</p></div></li>'
            )
        yield "</ul>"
    else:
        yield '<p class="soft">No node stands out.</p>'
    columns = total_columns(found.totals, "node")
    rows = ([text(row) for _, text in columns] for row in found.totals)
    heads = [column_title(name) for name, _ in columns]
    yield from table("Runs by node", heads, rows)
