"""Lines about several messages, as many as fit on about a screen."""

from __future__ import annotations

from collections.abc import Iterable

from jobmon_core.domain.redaction import redacted

_MAX_CHARS = 2000  # of all lines
_MAX_LINE_CHARS = 200


def listed(texts: Iterable[str], command: str) -> tuple[str, ...]:
    """Return a line for each text, as many as fit, then how many more the ``command`` shows."""
    lines = [_line(text) for text in texts]
    shown: list[str] = []
    room = _MAX_CHARS
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return (*shown, f"and {len(lines) - len(shown)} more: {command}")
        shown.append(line)
    return tuple(shown)


def _line(text: str) -> str:
    line = " ".join(redacted(text).split())  # secrets are hidden first: half of one would not be recognised
    return line if len(line) <= _MAX_LINE_CHARS else f"{line[: _MAX_LINE_CHARS - 1]}…"
