"""What the pages of `jobmon web` consist of: their frame, marks of states, bars and curves."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from jobmon.views.report.page import document, prose
from jobmon_core import __version__
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.domain.visible_text import in_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon.views.console import Lines

# a sign and a colour for each state; the word stands beside them
_MARKS = {
    StateGroup.RUNNING: ("●", "active"),
    StateGroup.PENDING: ("○", "soft"),
    StateGroup.ENDING: ("◐", "active"),
    StateGroup.RESTARTING: ("↻", "warn"),
    StateGroup.COMPLETED: ("✓", "good"),
    StateGroup.FAILED: ("✕", "bad"),
    StateGroup.CANCELLED: ("◌", "soft"),
    StateGroup.UNKNOWN: ("?", "warn"),
    StateGroup.UNWATCHED: ("·", "soft"),
}
_PLACES = {"Now": "/", "Groups": "/groups", "History": "/history", "Nodes": "/nodes"}
_WEB_ADDRESS = re.compile(
    r"https?://[A-Za-z0-9.\-\[\]:]+(?:/[!-~]*)?"
)  # it names no user: "host@other" is no host
_CURVE_WIDTH, _CURVE_HEIGHT = 96, 22
_MAX_POINTS = 48
_MAX_NAME, _MAX_TITLE = 60, 500  # characters


class Visitor(NamedTuple):
    """Who looks: the key of their forms, empty if the pages offer no actions."""

    form_key: str = ""


def site_page(title: str, place: str, main: Iterable[str], visitor: Visitor) -> str:
    """Return a page of the site; ``place`` is the entry of the menu that it belongs to."""
    links = "".join(
        f'<a href="{path}"{" aria-current=" + chr(34) + "page" + chr(34) if name == place else ""}>{name}</a>'
        for name, path in _PLACES.items()
    )
    head = (
        '<link rel="stylesheet" href="/style.css"/>',
        '<link rel="icon" href="data:,"/>',
        '<script src="/script.js" defer="defer"></script>',
    )
    can_act = " data-acts=" + chr(34) + "yes" + chr(34) if visitor.form_key else ""
    body = (
        f'<body class="site"{can_act}>',
        '<a class="skip" href="#main">Skip to the content</a>',
        f'<header class="top"><a class="brand" href="/">jobmon</a><nav aria-label="Pages">{links}</nav>',
        '<p class="live" role="status" id="live">Reload the page to update it.</p></header>',
        '<main id="main" tabindex="-1">',
        *main,
        "</main>",
        f"<footer>jobmon {in_html(__version__)}. Only you can open this page.</footer></body>",
    )
    return document(f"{title} · jobmon", head, body)


def problem_page(error: Exception, visitor: Visitor) -> str:
    """Return what stands in place of a page that cannot be shown, or of an act that was refused."""
    main = (
        heading("This cannot be shown"),
        f'<p class="notice"><b aria-hidden="true">!</b> {prose(str(error))}</p>',
        '<p><a href="/">All jobs</a></p>',
    )
    return site_page("Error", "", main, visitor)


def heading(title: str, beside: str = "") -> str:
    """Return the title of a page, with HTML ``beside`` it."""
    return f'<div class="title"><h1>{in_html(title)}</h1>{beside}</div>'


def section(title: str, number: int | None, content: Iterable[str], key: str) -> Lines:
    """Yield a part of a page below its title, with how many it lists."""
    counted = "" if number is None else f' <span class="count">{number}</span>'
    yield f'<section aria-labelledby="{key}"><h2 id="{key}">{in_html(title)}{counted}</h2>'
    yield from content
    yield "</section>"


def empty(text: str) -> str:
    """Return what stands where there is nothing to list."""
    return f'<p class="empty">{text}</p>'


def job_link(ref: str, name: str = "") -> str:
    """Return a link to the page of a job or task, with its name; a long one is whole on hover."""
    target = ref.partition("[")[0].rstrip("_")
    if not (target.isascii() and target.isalnum()):
        target = quote(target, safe="")
    named = ""
    if len(name) > _MAX_NAME:
        whole = in_html(name[:_MAX_TITLE])
        named = f' <span class="name" title="{whole}">{in_html(name[:_MAX_NAME])}…</span>'
    elif name:
        named = f' <span class="name">{in_html(name)}</span>'
    return f'<a class="ref" href="/job/{target}">{in_html(ref)}</a>{named}'


def outside_link(url: str, text: str) -> str:
    """Return a link to an address that a program wrote; only one of http or https becomes a link."""
    if not _WEB_ADDRESS.fullmatch(url):
        return in_html(text)
    return f'<a href="{in_html(url)}" rel="noopener noreferrer" target="_blank">{in_html(text)}</a>'


def action(visitor: Visitor, act: str, job: str, label: str, fields: str = "") -> str:
    """Return a form that does something about a job or group; empty if the pages offer none."""
    if not visitor.form_key:
        return ""
    hidden = {"key": visitor.form_key, "act": act, "job": job}
    values = "".join(f'<input type="hidden" name="{n}" value="{in_html(v)}"/>' for n, v in hidden.items())
    return (
        f'<form class="act" method="post" action="/act">{values}{fields}'
        f'<button type="submit">{label}</button></form>'
    )


def mark(group: StateGroup, word: str = "", sign: str = "") -> str:
    """Return a state with its sign and colour."""
    usual, tone = _MARKS[group]
    return (
        f'<span class="mark-{tone}"><b aria-hidden="true">{sign or usual}</b> {in_html(word or group)}</span>'
    )


def bar(fraction: float | None, tone: str = "") -> str:
    """Return a bar of which this share is filled; the figure must stand beside it."""
    if fraction is None:
        return ""
    width = 100 * min(1.0, max(0.0, fraction))
    return (
        f'<svg class="meter {tone}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="rail" width="100" height="6"/>'
        f'<rect class="fill" width="{width:.1f}" height="6"/></svg>'
    )


def curve(values: Sequence[float]) -> str:
    """Return the course of a value as a small curve; empty for fewer than two."""
    step = max(1, len(values) // _MAX_POINTS)
    known = [value for value in values[::-1][::step][::-1] if abs(value) < float("inf")]
    if len(known) < 2:  # noqa: PLR2004 - one value has no course
        return ""
    low, high = min(known), max(known)
    span = (high - low) or 1.0
    places = [
        f"{across}{1 + (_CURVE_HEIGHT - 2) * (high - value) / span:.1f}"
        for across, value in zip(_across(len(known)), known, strict=True)
    ]
    return (
        f'<svg class="curve" viewBox="0 0 {_CURVE_WIDTH} {_CURVE_HEIGHT}" aria-hidden="true">'
        f'<path d="M{"L".join(places)}"/></svg>'
    )


@cache
def _across(points: int) -> tuple[str, ...]:
    """Return the places of so many points across a curve, which are the same in most curves of a page."""
    return tuple(f"{_CURVE_WIDTH * number / (points - 1):.1f} " for number in range(points))


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names with what is known of each; a pair without a name continues the one before."""
    rows = "".join(
        f"<dt>{in_html(name)}</dt><dd>{in_html(text)}</dd>" if name else f"<dd>{in_html(text)}</dd>"
        for name, text in pairs
    )
    return f'<dl class="facts">{rows}</dl>' if rows else ""


def cell(label: str, content: str, kind: str = "") -> str:
    """Return a cell of a table, which has its label where the table is too narrow for columns."""
    kind = f' class="{kind}"' if kind else ""
    if content.strip():
        content = f"<div>{content.strip()}</div>"
    return f'<td data-label="{label}"{kind}>{content.strip()}</td>'


def rows_table(names: Sequence[str], rows: Iterable[str], caption: str) -> Lines:
    """Yield a table with one row a job; on a narrow screen each row becomes a card."""
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    yield f'<div class="scroll wide"><table class="rows"><caption>{in_html(caption)}</caption>'
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    yield from rows
    yield "</tbody></table></div>"
