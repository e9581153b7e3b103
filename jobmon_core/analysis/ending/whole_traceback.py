"""The whole traceback of the exception that ended a program, as its log has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.diagnosis.log_lines import LogLines
from jobmon_core.domain.diagnosis.tracebacks import DIRECT_CAUSE, WHILE_HANDLING, traceback_above
from jobmon_core.observe.logs.read import read_head, read_tail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.domain.diagnosis.log_lines import LogExcerpt
    from jobmon_core.domain.diagnosis.model import Line

_MAX_BYTES = 1024 * 1024  # from the end of the log, else from its beginning
_MAX_LINES = 60  # the last ones say most
_LINES_BEFORE = 2
_MAX_CHAINED = 5
_LINK_LINES = 4  # between two chained tracebacks: a sentence between blank lines


def whole_traceback(proof: Line) -> tuple[Line, ...]:
    """Return the traceback that ends in a line of a log, with those it is chained to; empty if none does.

    At most the last 60 lines; if there are fewer, the two lines before it, too: they say what was done.
    """
    if proof.number is None:
        return ()
    for part in (read_tail(proof.file, _MAX_BYTES), read_head(proof.file, _MAX_BYTES)):
        position = _position(part.excerpt, proof)
        if position is not None:
            lines = LogLines([part.excerpt])
            start = _start(lines, position)
            shown = range(max(start - _LINES_BEFORE, position + 1 - _MAX_LINES, 0), position + 1)
            return tuple(lines[each] for each in shown) if start < position else ()
    return ()


def _position(excerpt: LogExcerpt, proof: Line) -> int | None:
    """Return where a line of the log is in an excerpt; None if it is not there any more."""
    if excerpt.first_number is None or proof.number is None:
        return None
    position = proof.number - excerpt.first_number
    return position if 0 <= position < len(excerpt.texts) else None


def _start(lines: LogLines, position: int) -> int:
    """Return the position of the first line of the chain of tracebacks that ends at ``position``."""
    start = position
    for _ in range(_MAX_CHAINED):
        found = traceback_above(lines, position)
        if found.head is None:
            return found.frames[0].position if found.frames else start
        start = found.head
        above = _exception_above(lines.texts, start)
        if above is None:
            return start
        position = above
    return start


def _exception_above(texts: Sequence[str], head: int) -> int | None:
    """Return the last line of the traceback above, if the one at ``head`` is chained to it; else None."""
    for link in range(head - 1, max(-1, head - 1 - _LINK_LINES), -1):
        if WHILE_HANDLING in texts[link] or DIRECT_CAUSE in texts[link]:
            return next((each for each in range(link - 1, -1, -1) if texts[each].strip()), None)
    return None
