"""Makes any text safe to send and to show: cleans it, hides secrets, and then shortens it.

Nothing is shortened before secrets are hidden: half a token would not be recognised as one.
"""

from __future__ import annotations

import re

_GAP = " … "
_LINE_GAP = "\n…\n"

# ECMA-48: CSI sequences, strings (titles, links) that end on their line, two-character escapes.
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]"
)
# Control characters except tab and newline, and characters that reorder or hide text: bidirectional
# controls, byte order mark, tag characters.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_SEPARATORS = re.compile("[\u2028\u2029]")
_SURROGATES = re.compile("[\ud800-\udfff]")  # from log bytes that are not UTF-8


def clean(text: str) -> str:
    """Return ``text`` as a terminal would finally show it, with secrets hidden.

    Invisible characters are removed before that, because one may split a secret.
    """
    from jobmon_core.domain.redaction import redacted  # its regexes are not needed to read the configuration

    visible = "\n".join(_last_state(line) for line in _ANSI.sub("", text).split("\n"))
    visible = _SEPARATORS.sub("\n", _INVISIBLE.sub("", visible))
    return redacted(_SURROGATES.sub("\ufffd", visible))


def cut_middle(text: str, limit: int) -> str:
    """Shorten ``text`` to ``limit`` code points by dropping its middle: causes are at either end."""
    if len(text) <= limit:
        return text
    gap = _GAP
    if "\n" in text:
        gap = _LINE_GAP
    room = limit - len(gap)
    if room < len(gap):
        return text[: max(limit, 0)]
    head = room * 2 // 5
    return text[:head] + gap + text[len(text) - (room - head) :]


def one_line(text: str) -> str:
    """Return ``text`` cleaned and on one line."""
    return " ".join(clean(text).split())


def _last_state(line: str) -> str:
    return next((state for state in reversed(line.split("\r")) if not state.isspace() and state), "")


def is_visible(text: str) -> bool:
    """Whether a text has a character that can be seen."""
    return any(char.isprintable() and not char.isspace() for char in text)
