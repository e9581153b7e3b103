"""Figures of GPUs in a table that a program writes, found by the names of its columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from jobmon_core.domain.groups.log_text import GpuFigures

_UTILIZATION = re.compile(r"(?i)util")
_MEMORY = re.compile(r"(?i)mem")
_USED, _TOTAL = re.compile(r"(?i)used|usage"), re.compile(r"(?i)total|max|limit")
_NUMBER = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?)")
# how the name of a column says its unit; without one, large numbers are MiB, as nvidia-smi prints them
_TO_GIB = (
    (re.compile(r"(?i)gi?b"), 1.0),
    (re.compile(r"(?i)mi?b"), 2**-10),
    (re.compile(r"(?i)bytes"), 2**-30),
)
_LARGEST_GIB = 1024.0


def figures_of_rows(rows: Sequence[Mapping[str, str]]) -> GpuFigures | None:
    """Return the figures in the last row of a table; None if it has no utilisation.

    The columns are recognised by the words in their names, e.g. ``gpu_mem_used`` and ``memory.total [MiB]``.
    """
    if not rows:
        return None
    row = rows[-1]
    memory = {name: text for name, text in row.items() if _MEMORY.search(name)}
    used = [name for name in row if _UTILIZATION.search(name) and name not in memory]
    percent = _number(row[used[0]]) if used else None
    if percent is None:
        return None
    return GpuFigures(percent, _gib(memory, _USED), _gib(memory, _TOTAL))


def _gib(columns: Mapping[str, str], kind: re.Pattern[str]) -> float | None:
    for name, text in columns.items():
        if kind.search(name) and (value := _number(text)) is not None:
            factor = next((factor for unit, factor in _TO_GIB if unit.search(name)), None)
            if factor is None:
                factor = 2**-10 if value > _LARGEST_GIB else 1.0
            return value * factor
    return None


def _number(text: str | None) -> float | None:
    found = _NUMBER.match(text or "")
    return float(found[1]) if found else None
