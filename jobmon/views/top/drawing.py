"""Lines of styled text, and the bars and sparklines in them, in Unicode or in plain ASCII."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from jobmon.views.console import Style, one_line
from jobmon.views.text_width import text_width, truncated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon_core.domain.progress.model import History


class Span(NamedTuple):
    """A piece of a line."""

    text: str
    style: Style = Style.PLAIN


Line = tuple[Span, ...]


class Symbols(NamedTuple):
    """The characters that differ between terminals."""

    full: str
    empty: str
    levels: str  # of a sparkline, from low to high
    plus_minus: str
    up_down: str  # the keys that move up and down
    is_ascii: bool = False


UNICODE = Symbols("█", "░", "▁▂▃▄▅▆▇█", "±", "↑↓")
ASCII = Symbols("#", "-", "_.-~=+*#", "+-", "j/k", is_ascii=True)
_IN_ASCII = str.maketrans({"…": "~", "±": "?"})
_SHORTEST_S = 1e-3  # of a run whose throughput is drawn


def bar(fraction: float, width: int, symbols: Symbols) -> str:
    """Return a progress bar of ``width`` columns; it is full only at the end."""
    filled = width if fraction >= 1 else min(int(max(0.0, fraction) * width + 0.5), width - 1)
    return symbols.full * filled + symbols.empty * (width - filled)


def sparkline(values: Sequence[float], width: int, symbols: Symbols, lowest: float | None = None) -> str:
    """Return the course of finite values in at most ``width`` columns; empty for fewer than two values.

    ``lowest`` is the value of the lowest level; by default, it is the lowest of the values.
    """
    shown = _averaged([value for value in values if math.isfinite(value)], width)
    if len(shown) < 2:  # noqa: PLR2004 - one value has no course
        return ""
    lowest, highest = min(shown) if lowest is None else lowest, max(shown)
    top = len(symbols.levels) - 1
    spread = highest - lowest
    if not 0 < spread < math.inf:
        return symbols.levels[top // 2] * len(shown)
    return "".join(symbols.levels[round((value - lowest) / spread * top)] for value in shown)


def _averaged(values: Sequence[float], width: int) -> list[float]:
    """Return at most ``width`` means of consecutive values."""
    if width < 1:
        return []
    count = min(width, len(values))
    edges = [len(values) * position // count for position in range(count + 1)] if count else []
    return [sum(values[i:j]) / (j - i) for i, j in pairwise(edges)]


def throughput(history: History, width: int) -> list[float]:
    """Return the units per second in at most ``width`` equal periods of a run; empty if it is too short."""
    samples = history.samples
    if len(samples) < 3 or samples[-1].at_s < samples[0].at_s + _SHORTEST_S:  # noqa: PLR2004 - two have one rate
        return []
    periods = min(width, len(samples) - 1)
    start_s, step_s = samples[0].at_s, (samples[-1].at_s - samples[0].at_s) / max(1, periods)
    counts, position = [], 0
    for number in range(periods + 1):
        at_s = start_s + number * step_s
        while position < len(samples) - 2 and samples[position + 1].at_s < at_s:
            position += 1
        before, after = samples[position], samples[position + 1]
        share = min(1.0, max(0.0, (at_s - before.at_s) / max(1e-9, after.at_s - before.at_s)))
        counts.append(before.current + share * (after.current - before.current))
    return [max(0.0, later - earlier) / step_s for earlier, later in pairwise(counts)]


def text_line(text: str, style: Style = Style.PLAIN) -> Line:
    """Return a line of one style."""
    return (Span(text, style),)


def fitted(line: Iterable[Span], width: int, symbols: Symbols = UNICODE) -> Line:
    """Return a line cut to ``width`` columns, without characters that the terminal cannot show."""
    spans, left = [], width
    for span in line:
        text = one_line(span.text)
        if text_width(text) > left:
            text = truncated(text, left) if left > 0 else ""
        if symbols.is_ascii:
            text = in_ascii(text)
        left -= text_width(text)
        if text:
            spans.append(Span(text, span.style))
    return tuple(spans)


def in_ascii(text: str) -> str:
    """Return a text of the same width in ASCII; ``?`` stands for what has no ASCII."""
    if text.isascii():
        return text
    return "".join(each if each.isascii() else "?" * text_width(each) for each in text.translate(_IN_ASCII))


def line_width(line: Iterable[Span]) -> int:
    """Return the number of columns of a line."""
    return sum(text_width(span.text) for span in line)


def justified(left: Line, right: Line, width: int) -> Line:
    """Return a line with ``right`` at its end; where both do not fit, the left part is cut or left out."""
    room = width - line_width(right)
    if room <= 1:
        return fitted(right, width)
    start = fitted(left, room - 1)
    return (*start, Span(" " * (room - line_width(start))), *right)
