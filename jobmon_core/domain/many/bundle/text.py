"""Lay out the parts of a diagnostics bundle as one text of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from jobmon_core.domain.humanize import count
from jobmon_core.domain.visible_text import one_line, visible

MAX_BYTES = 256 * 1024  # of the whole file
_MAX_PART_BYTES = 48 * 1024
_MAX_LINE = 1000  # characters
_NOTHING = "(nothing known)"
_CUT = "[cut here: the diagnostics file is full]"
_LATEST_S = 253_402_300_800  # the year 10000, which ISO 8601 cannot write


class Part(NamedTuple):
    """One part of a bundle. Its lines hold no secrets."""

    title: str
    lines: Sequence[str]
    keeps_end: bool = False  # if it is too long, its end says more than its beginning


def bundle_text(heading: Sequence[str], parts: Iterable[Part]) -> str:
    """Return the text of a bundle, at most `MAX_BYTES` bytes of UTF-8."""
    blocks = ["\n".join(map(one_line, heading))]
    blocks += [f"== {one_line(part.title)}\n{_body(part)}" for part in parts]
    data = ("\n\n".join(blocks) + "\n").encode(errors="replace")
    if len(data) <= MAX_BYTES:
        return data.decode()
    kept = data[: MAX_BYTES - len(_CUT) - 2].decode(errors="ignore")
    return f"{kept}\n{_CUT}\n"


def _body(part: Part) -> str:
    lines = [_shortened(line) for line in part.lines] or [_NOTHING]
    shown: list[str] = []
    room = _MAX_PART_BYTES
    for line in reversed(lines) if part.keeps_end else lines:
        room -= len(line.encode(errors="replace")) + 1
        if room < 0:
            break
        shown.append(line)
    hidden = len(lines) - len(shown)
    left_out = [f"[{count(hidden, 'line')} left out]"] if hidden else []
    return "\n".join([*left_out, *reversed(shown)] if part.keeps_end else [*shown, *left_out])


def _shortened(line: str) -> str:
    line = visible(line.expandtabs()).replace("\n", " ")
    return line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]} [...]"


def utc(at_s: float | None) -> str:
    """Return a time as ISO 8601 in UTC; empty if it is None, not positive or after 9999."""
    if at_s is None or not 0 < at_s < _LATEST_S:
        return ""
    return datetime.fromtimestamp(int(at_s), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
