"""Text of others, e.g. names of jobs, as it is shown: on a terminal, in Markdown, in HTML, in a text file.

A name can hold control sequences, which change a terminal's title or its clipboard; characters that turn the
direction of the text around them; new lines, with which it looks like text of jobmon; and the markup of a
page. Every surface shows such text through one of these functions.
"""

from __future__ import annotations

import re

# markup of Markdown, and of HTML within it; an underscore within a word is none
_MARKUP = re.compile(r"[\\`*\[\]<>|]|(?<!\w)_|_(?!\w)|~(?=~)|&(?=#?\w)")


def one_line(text: str) -> str:
    """Return ``text`` with unprintable characters, such as control codes and new lines, as spaces."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else " " for character in text)


def visible(text: str) -> str:
    """Do as `one_line`, but keep lines, and bytes that are not UTF-8."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each == "\n" or "\ud800" <= each <= "\udfff" else " " for each in text
    )


def in_markdown(text: str) -> str:
    """Return ``text`` on one line, as Markdown that shows its characters and is no markup, link or code."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(one_line(text).split()))


def in_html(text: str) -> str:
    """Return the lines of ``text`` as HTML."""
    from html import escape  # `submit` is fast and writes no HTML

    return escape(visible(text))
