"""The page of the history: ended runs, filtered by its address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.html import parts
from jobmon.views.report.history import about, history_sections
from jobmon_core.domain.job.history.totals import BY
from jobmon_core.domain.visible_text import in_html

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon.views.console import Lines
    from jobmon_core.app.history.look import Overview

PERIODS = {"": "ever", "7d": "7 days", "30d": "30 days", "90d": "90 days", "365d": "a year"}
_SELECTED = ' selected="selected"'
_TEXTS = {"name": "train*", "group": "sweep*", "state": "failure", "cause": "cuda*", "node": "gpu01"}


def history_page(data: Overview, query: Mapping[str, str], visitor: parts.Visitor) -> str:
    """Return the page of the history; ``query`` are the filters in its address."""
    return parts.site_page("History", "History", _history(data, query), visitor)


def _history(data: Overview, query: Mapping[str, str]) -> Lines:
    yield parts.heading("History", f'<p class="soft">{in_html(about(data))}</p>')
    yield '<form class="filter left" action="/history" method="get">'
    for name, example in _TEXTS.items():
        yield f'<span><label for="f-{name}">{name.capitalize()}</label> <input id="f-{name}" name="{name}"'
        yield f' value="{in_html(query.get(name, ""))}" placeholder="{example}" size="9"/></span>'
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
    choice = f'<select id="f-{name}" name="{name}">{options}</select>'
    return f'<span><label for="f-{name}">{label}</label> {choice}</span>'
