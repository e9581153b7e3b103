"""Discord's markdown as its client parses it, so that a test can tell what a text would look like.

The rules and their order are those of Discord's fork of simple-markdown, as far as messages use them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINK_TEXT = r"(?:\[[^\]]*\]|[^\[\]]|\](?=[^\[]*\]))*"
_LINE_RULES = {
    "quote": re.compile(r" *>(?:>>)? [^\n]*"),
    "heading": re.compile(r" *#{1,3}\s[^\n]*"),
    "subtext": re.compile(r" *-# [^\n]*"),
    "list": re.compile(r" *(?:[*+-]|\d+\.) [^\n]*"),
}
_RULES = {
    "block": re.compile(r"```(?:\w*\n)?([\s\S]*?)```"),
    "escape": re.compile(r"\\([^0-9A-Za-z\s])"),
    "autolink": re.compile(r"<(?:[^: >]+:/[^ >]+)>"),
    "url": re.compile(r"\w+://[^\s<]+[^<.,:;\"')\]\s]", re.ASCII),
    "link": re.compile(rf"\[({_LINK_TEXT})\]\(\s*<?[^\s)]+>?[^)]*\)"),
    "mention": re.compile(r"<(?:@[!&]?|#|id:)\w+>|@everyone|@here"),
    "command": re.compile(r"</[^>]*:\d+>"),
    "emoji": re.compile(r"<a?:\w+:\d+>"),
    "time": re.compile(r"<t:-?\d{1,17}(?::[tTdDfFR])?>"),
    "strong": re.compile(r"\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)"),
    "underline": re.compile(r"__((?:\\[\s\S]|[^\\])+?)__(?!_)"),
    "em": re.compile(
        r"_((?:__|\\[\s\S]|[^\\_])+?)_(?!\w)|\*(?=\S)((?:\*\*|\s+(?:[^*\s]|\*\*)|[^\s*])+?)\*(?!\*)", re.ASCII
    ),
    "strike": re.compile(r"~~([\s\S]+?)~~(?!_)"),
    "spoiler": re.compile(r"\|\|([\s\S]+?)\|\|"),
    "code": re.compile(r"(`+)([\s\S]*?[^`])\1(?!`)"),
}
_TEXT = re.compile(r"[\s\S]+?(?=[^0-9A-Za-z\s\u00c0-\uffff]|\n|\w+:\S|$)", re.ASCII)


class Piece(NamedTuple):
    """A piece of a text: ``text``, or the name of the markup that Discord takes it for."""

    kind: str
    text: str


def parse(text: str) -> Iterator[Piece]:
    """Yield the pieces of a text; markup within markup is not parsed again."""
    position = 0
    while position < len(text):
        rules = {**_LINE_RULES, **_RULES} if position == 0 or text[position - 1] == "\n" else _RULES
        matches = ((kind, rule.match(text, position)) for kind, rule in rules.items())
        kind, found = next(((kind, found) for kind, found in matches if found), ("text", None))
        found = found or _TEXT.match(text, position)
        assert found is not None, text[position:]
        yield Piece("text", found[1]) if kind == "escape" else Piece(kind, found[0])
        position = found.end()
