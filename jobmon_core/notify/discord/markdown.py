"""Any text, made safe for Discord: cleaned, cut, and escaped or fenced. All pure, all linear."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.domain.redaction import redacted

if TYPE_CHECKING:
    from collections.abc import Callable

EMPTY = "—"  # for a value with nothing to see in it, which Discord may refuse
_FENCE = "```"
FENCE_COST = 2 * len(_FENCE) + 2
_GAP = " … "
_LINE_GAP = "\n…\n"

# ECMA-48: CSI sequences, strings (titles, links) that end on their line, two-character escapes. Unlike in
# domain.text nothing is shortened here before tokens are hidden: half a token would not be known as one.
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]"
)
# Control characters but for tab and newline; what turns or hides the text around it: bidirectional
# controls, byte order mark, tag characters.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_SEPARATORS = re.compile("[\u2028\u2029]")
_SURROGATES = re.compile("[\ud800-\udfff]")  # bytes of a log that were no UTF-8
_MARKUP = re.compile(r"[\\*_~|>\[\]()#\-<`]")
_CALLS = re.compile("@(?=everyone|here)", re.IGNORECASE)
_ADJACENT = re.compile("(?<=`)(?=`)")


def clean(text: str) -> str:
    """Return ``text`` as a reader of the terminal would have seen it at last, with its secrets hidden.

    They are hidden when the invisible characters are gone: those may have split one.
    """
    settled = "\n".join(_last_state(line) for line in _ANSI.sub("", text).split("\n"))
    settled = _SEPARATORS.sub("\n", _UNSEEN.sub("", settled))
    return redacted(_SURROGATES.sub("\ufffd", settled))


def cut_middle(text: str, limit: int) -> str:
    """Return at most ``limit`` code points of ``text``, leaving out its middle: a cause stands at an end."""
    if len(text) <= limit:
        return text
    gap = _LINE_GAP if "\n" in text else _GAP
    room = limit - len(gap)
    if room < len(gap):
        return text[: max(limit, 0)]
    head = room * 2 // 5
    return text[:head] + gap + text[len(text) - (room - head) :]


def escape(text: str) -> str:
    """Return ``text`` so that Discord shows it as it is: no markup, no mention, no timestamp."""
    return _CALLS.sub("@\u200b", _MARKUP.sub(r"\\\g<0>", text))


def prose(text: str, limit: int) -> str:
    """Return ``text`` cleaned and escaped, in at most ``limit`` code points; empty if nothing is seen."""
    cleaned = clean(text).strip()
    return _fit(cleaned, limit, escape) if _is_visible(cleaned) else ""


def code_block(text: str, limit: int) -> str:
    """Return ``text`` as one code block of at most ``limit`` code points, fences included; or empty."""
    cleaned = clean(text).strip("\n")
    if not _is_visible(cleaned) or limit <= FENCE_COST:
        return ""
    return f"{_FENCE}\n{_fit(cleaned, limit - FENCE_COST, _without_fences)}\n{_FENCE}"


def code_span(text: str, limit: int) -> str:
    """Return ``text`` as code within a line, for copying; a span cannot hold a backtick, so then escaped."""
    cleaned = one_line(text)
    if "`" in cleaned or not _is_visible(cleaned):
        return prose(text, limit)
    return f"`{cut_middle(cleaned, limit - 2)}`"


def one_line(text: str) -> str:
    """Return ``text`` cleaned and on one line, neither cut nor escaped."""
    return " ".join(clean(text).split())


def _last_state(line: str) -> str:
    """Reduce a progress bar, which rewrites its line, to the last state that holds anything."""
    return next((state for state in reversed(line.split("\r")) if not state.isspace() and state), "")


def _without_fences(text: str) -> str:
    """Part adjacent backticks: there is no other way to show them inside a code block."""
    return _ADJACENT.sub("\u200b", text)


def _is_visible(text: str) -> bool:
    """Tell whether there is anything to see."""
    return any(each.isprintable() and not each.isspace() for each in text)


def _fit(text: str, limit: int, dress: Callable[[str], str]) -> str:
    """Return the most of ``text`` within ``limit`` once dressed; a later cut could halve an escape."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if len(dress(cut_middle(text, middle))) <= limit:
            low = middle
        else:
            high = middle - 1
    return dress(cut_middle(text, low))
