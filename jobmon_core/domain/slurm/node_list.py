"""Expand a list of nodes as Slurm writes it, e.g. ``n[01-03,7],login1``."""

from __future__ import annotations

import re
from itertools import product

_NAME = re.compile(r"(?:[^,\[\]]|\[[^\]]*\])+")  # a comma within brackets does not end a name
_PART = re.compile(r"([^\[\]]+)|\[([^\]]*)\]")
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)
_MAX_RANGE = 100_000  # no cluster has more nodes


def node_names(expression: str) -> tuple[str, ...]:
    """Return the names of the nodes, in the order of the list; a damaged range counts as one name."""
    return tuple(name for each in _NAME.findall(expression) for name in _expanded(each))


def _expanded(name: str) -> list[str]:
    parts = [[text] if text else _numbers(ranges) for text, ranges in _PART.findall(name)]
    return ["".join(chosen) for chosen in product(*parts)]


def _numbers(ranges: str) -> list[str]:
    numbers: list[str] = []
    for each in ranges.split(","):
        match = _RANGE.fullmatch(each)
        span = range(int(match[1]), int(match[2]) + 1) if match else range(0)
        if match and 0 < len(span) <= _MAX_RANGE:
            numbers += [f"{number:0{len(match[1])}}" for number in span]
        else:
            numbers.append(each)
    return numbers
