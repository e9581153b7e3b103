"""Find the kinds of lines that one log has and another lacks; numbers, paths and times do not count."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_CHARACTERS = 300  # of a line that count for its kind
_MIN_LETTERS = 3
# what differs from run to run: paths, numbers with or without letters around, names of days and months
_VARIABLE = re.compile(
    r"[~.\w-]*/[^\s'\"]*|\b(?:mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\b"
    r"|\b(?=[a-z]*\d)[0-9a-f]{6,}\b|\w*\d\w*"
)
_SEPARATORS = re.compile(r"[\W_]+")


def kind_of(line: str) -> str:
    """Return the words of a line without what differs from run to run; empty if none are left."""
    words = _SEPARATORS.sub(" ", _VARIABLE.sub(" ", line[:_MAX_CHARACTERS].lower())).strip()
    return words if len(words) >= _MIN_LETTERS else ""


def new_kinds(lines: Iterable[str], known: Iterable[str], at_most: int) -> tuple[list[str], int]:
    """Return the first line of each kind that no line of ``known`` has, and how many more kinds there are."""
    seen = {kind_of(line) for line in known}
    first: dict[str, str] = {}
    for line in lines:
        if (kind := kind_of(line)) and kind not in seen:
            first.setdefault(kind, line)
    found = list(first.values())
    return found[:at_most], max(0, len(found) - at_most)
