"""The ordinary output of a program, by which one sees that it went on after a failure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.diagnosis.lines.ray_log import (
    is_of_service,
    is_repeated,
    lines_of_memory_reports,
)

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from jobmon_core.domain.logs.diagnosis.log_lines import LogLines

_FIRST_VISIBLE = "!"  # empty and indented lines sort before it


class OrdinaryLines:
    """The unindented lines of a log that match no pattern, for each rank label."""

    def __init__(self, lines: LogLines, matched: AbstractSet[int], start: int) -> None:
        """Find them from ``start`` on; ``matched`` are the positions of the lines that match a pattern."""
        self._labels = lines.labels
        self._by_label = defaultdict[str, list[int]](list)
        reports = lines_of_memory_reports(lines.unprefixed)
        for position, text in enumerate(islice(lines.unprefixed, start, None), start):
            if text >= _FIRST_VISIBLE and position not in matched and position not in reports:
                label = lines.labels[position]
                if not (label and is_repeated(lines.texts[position])):
                    self._by_label[label].append(position)

    def count(self, position: int, stop: int) -> int:
        """Count those after ``position``, before ``stop``, from the rank that printed the line there.

        If a service of Ray printed it, which reports about workers, the lines of all ranks count.
        """
        label = self._labels[position]
        labels = list(self._by_label) if is_of_service(label) else [label]
        found = [self._by_label.get(each, []) for each in labels]
        return sum(bisect_left(each, stop) - bisect_right(each, position) for each in found)
