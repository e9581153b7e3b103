"""What all pages share, in a file or of `jobmon web`: their frame, figures and tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon.views.html import resource
from jobmon.views.model import age, iso, stamp
from jobmon_core import __version__
from jobmon_core.domain.visible_text import in_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon.views.console import Lines

# whatever a log contains, the page loads and runs nothing where it is opened
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_CODE = re.compile(r"`([^`]*)`")
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def document(title: str, head: Iterable[str], body: Iterable[str]) -> str:
    """Return a page: a polyglot of HTML and XML, so that any parser can check it."""
    parts = (
        '<!DOCTYPE html>\n<html lang="en" xmlns="http://www.w3.org/1999/xhtml">\n<head>',
        '<meta charset="utf-8"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        f"<title>{in_html(title)}</title>",
        *head,
        "</head>",
        *body,
        "</html>\n",
    )
    return _NOT_TEXT.sub(" ", "\n".join(parts))


def page_html(title: str, body: Iterable[str], now_s: float) -> str:
    """Return a page that needs no network, no JavaScript and no other file."""
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{in_html(_POLICY)}"/>',
        f"<style>\n{resource('base.css')}</style>",
    )
    footer = f"<footer>Written by jobmon {in_html(__version__)} at {stamp(now_s)}.</footer>"
    return document(title, head, ("<body>", *body, footer, "</body>"))


def prose(text: str) -> str:
    """Return a text with what stands between backticks as code."""
    return _CODE.sub(r"<code>\1</code>", in_html(text))


def tiles(figures: Iterable[tuple[str, str]]) -> str:
    """Return figures by name, side by side."""
    cells = (f"<div><dt>{name}</dt><dd>{in_html(value)}</dd></div>" for name, value in figures)
    return f'<dl class="tiles">{"".join(cells)}</dl>'


def table(title: str, names: Iterable[str], rows: Iterable[Sequence[str]]) -> Lines:
    """Yield a table with its heading."""
    name = in_html(title)  # who uses only keys must be able to scroll it
    yield f'<h2>{name}</h2><div class="scroll" tabindex="0" role="region" aria-label="{name}">'
    yield '<table class="words"><thead><tr>'
    yield "".join(f'<th scope="col">{name}</th>' for name in names)
    yield "</tr></thead><tbody>"
    for row in rows:
        yield "<tr>" + "".join(f"<td>{in_html(cell)}</td>" for cell in row) + "</tr>"
    yield "</tbody></table></div>"


def moment(at_s: float | None, now_s: float) -> str:
    """Return a time as its distance from now, with the exact one on hover; empty for an unknown one."""
    exact = iso(at_s)
    if at_s is None or exact is None:
        return ""
    distance = age(abs(now_s - at_s))
    text = f"{distance} ago" if at_s <= now_s else f"in {distance}"
    return f'<time datetime="{exact}" title="{stamp(at_s)}">{text}</time>'
