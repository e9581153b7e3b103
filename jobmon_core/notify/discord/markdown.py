"""Makes any text safe for Discord: cleans, shortens, and escapes or fences it, in time linear in the text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.notify.clean_text import clean, cut_middle, is_visible, one_line

if TYPE_CHECKING:
    from collections.abc import Callable

EMPTY = "—"  # stands for an invisible value, which Discord may refuse
_FENCE = "```"
_FENCE_COST = 2 * len(_FENCE) + 2
# Only what Discord reads as markup is escaped, because notifications and copied text show the backslashes. An
# underscore within a word, as in ``my_file.py``, a lone ``~`` or ``|``, and ``<`` before a number stay as is.
_MARKUP = re.compile(
    r"[*`]"
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
    r"|~(?=~)|(?<=~)~|\|(?=\|)|(?<=\|)\|"
    r"|\\(?![A-Za-z0-9\s])"
    r"|<(?![\s\d=-])|(?<=<)[@#:/]"
    r"|(?<=\])\("  # of a link; its brackets alone are harmless
    r"|:(?=//)"  # of a URL, which would become a link with a preview
    r"|^[^\S\n]*(?:[>#]|[+-](?=[\s#])|\d+\.(?=\s))",  # quote, heading, list
    re.MULTILINE,
)
_CALLS = re.compile("@(?=everyone|here)", re.IGNORECASE)
_CODE_SPAN = re.compile("(?<!`)(`[^`\n]+`)(?!`)")
_ADJACENT = re.compile("(?<=`)(?=`)")


def escape(text: str) -> str:
    """Return ``text`` so that Discord shows it literally: no markup, no mention, no timestamp."""
    return _CALLS.sub("@\u200b", _MARKUP.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", text))


def prose(text: str, limit: int) -> str:
    """Return ``text`` cleaned and escaped, in at most ``limit`` code points; empty if nothing is visible."""
    cleaned = clean(text).strip()
    return _fit(cleaned, limit, escape) if is_visible(cleaned) else ""


def prose_with_code(text: str, limit: int) -> str:
    """Return the text as `prose` does, with what stands between backticks as inline code."""
    cleaned = clean(text).strip()
    return _fit(cleaned, limit, _escape_around_code) if is_visible(cleaned) else ""


def _escape_around_code(text: str) -> str:
    parts = _CODE_SPAN.split(text)
    return "".join(part if number % 2 else escape(part) for number, part in enumerate(parts))


def code_block(text: str, limit: int) -> str:
    """Return ``text`` as one code block of at most ``limit`` code points with its fences.

    Empty if nothing is visible or there is no room.
    """
    cleaned = clean(text).strip("\n")
    if not is_visible(cleaned) or limit <= _FENCE_COST:
        return ""
    return f"{_FENCE}\n{_fit(cleaned, limit - _FENCE_COST, _without_fences)}\n{_FENCE}"


def code_span(text: str, limit: int) -> str:
    """Return ``text`` as inline code; as prose if it has a backtick, which inline code cannot show."""
    cleaned = one_line(text)
    if "`" in cleaned or not is_visible(cleaned):
        return prose(text, limit)
    return f"`{cut_middle(cleaned, limit - 2)}`"


def _without_fences(text: str) -> str:
    """Separate adjacent backticks, which cannot be escaped inside a code block."""
    return _ADJACENT.sub("\u200b", text)


def _fit(text: str, limit: int, escape_text: Callable[[str], str]) -> str:
    """Return as much of ``text`` as fits after escaping; shortening afterwards could split an escape."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if len(escape_text(cut_middle(text, middle))) <= limit:
            low = middle
        else:
            high = middle - 1
    return escape_text(cut_middle(text, low))
