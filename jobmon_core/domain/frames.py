"""Find the user's own line in a Python traceback."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobmon_core.domain.rules import Line
from jobmon_core.domain.text import without_label

_FURTHEST_LINES = 400  # tracebacks are shorter: a recursion prints its frames once and counts the rest
_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen ", "<string>")


def user_frame(lines: Sequence[Line], position: int) -> tuple[Line, ...]:
    """Return the frame above the exception at ``position`` that is nearest to it and in no library.

    The frame is its ``File "...", line N`` and, where printed, its source line. Where all frames are in
    libraries it is the last of them; where no traceback precedes, nothing. Ranks that print at the same
    time are told apart by their labels.
    """
    frames = list(_frames(lines, position))
    own = [frame for frame in frames if not any(part in frame[0].text for part in _LIBRARIES)]
    return next(iter(own or frames), ())


def _frames(lines: Sequence[Line], position: int) -> Iterator[tuple[Line, ...]]:
    """Yield the frames above ``position`` from the last to the first."""
    label = _label(lines[position])
    below: Line | None = None
    for line in reversed(lines[max(0, position - _FURTHEST_LINES) : position]):
        if _label(line) != label:
            continue  # another rank
        text = without_label(line.text)
        if not text[:1].isspace():
            return  # the head of the traceback, or no traceback at all
        if _is_frame(text):
            yield (line,) if below is None else (line, below)
            below = None
        else:
            below = line if text.strip(" ^~") else below


def _is_frame(text: str) -> bool:
    stripped = text.lstrip()
    return stripped.startswith('File "') and '", line ' in stripped


def _label(line: Line) -> str:
    return line.text[: len(line.text) - len(without_label(line.text))]
