"""What follows a failure in a log: ordinary output of a program that went on, or another run.

A new start shows in the first lines that appear again, another job id, or a time stamp long after it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.diagnosis.ray_log import (
    is_of_service,
    is_repeated,
    lines_of_memory_reports,
)
from jobmon_core.domain.logs.progress.log.values import stamp_s

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from jobmon_core.domain.logs.diagnosis.log_lines import LogLines


_FIRST_VISIBLE = "!"  # empty and indented lines sort before it


class OrdinaryLines:
    """The unindented lines of a log that match no pattern, for each rank label."""

    def __init__(self, lines: LogLines, matched: AbstractSet[int], start: int) -> None:
        """Find them from ``start`` on, except at the ``matched`` positions."""
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

        If a service of Ray printed it, those of all ranks count.
        """
        label = self._labels[position]
        labels = list(self._by_label) if is_of_service(label) else [label]
        found = [self._by_label.get(each, []) for each in labels]
        return sum(bisect_left(each, stop) - bisect_right(each, position) for each in found)


_BANNER_LINES = 10  # at the beginning of a log
_MIN_BANNER_CHARS = 8  # a shorter line may appear again by chance
_JOB_ID = re.compile(r"(?i)job[ _]?id\b[^0-9\n]{0,10}(\d{1,12})")
_NEAR_LINES = 100  # in which a time stamp is searched
_LATER_S = 600.0  # a program that failed ends sooner
_TRACEBACK = "Traceback ("
_COUNTED = re.compile(r"(?i)\b(?:step|epoch|iter(?:ation)?|batch|update|episode)s?\b\D{0,5}(\d{1,12})\b")
_MIN_COUNTED = 3  # a script that cleans up after a failure prints none
_DIGITS = re.compile(r"\d+")


def started_again(before: Sequence[str], after: Sequence[str], *, is_beginning: bool) -> bool:
    """Whether the lines ``after`` a failure show a new start; ``is_beginning``: ``before`` begins the log."""
    if is_beginning and _repeats_banner(before, after):
        return True
    job_ids = _job_ids(after)
    if job_ids and not job_ids & (_job_ids(before) or job_ids):
        return True
    later_s = _last_time_s(after)
    failed_s = None if later_s is None else _last_time_s(before)
    return failed_s is not None and later_s is not None and later_s - failed_s > _LATER_S


def counts_up(lines: Iterable[str]) -> bool:
    """Whether a counter of steps rises in at least three of these lines."""
    latest: dict[str, int] = {}
    rises: dict[str, int] = {}
    for match in filter(None, map(_COUNTED.search, lines)):
        shape, number = _normalised(match.string), int(match[1])
        if number > latest.get(shape, -1):
            rises[shape] = rises.get(shape, 0) + 1
        latest[shape] = number
    return any(count >= _MIN_COUNTED for count in rises.values())


def _repeats_banner(before: Sequence[str], after: Sequence[str]) -> bool:
    first = (_normalised(line) for line in before[:_BANNER_LINES] if line[:1].strip())
    banner = {line for line in first if _identifies_start(line)}
    repeated = banner.intersection(map(_normalised, after)) if banner else set[str]()
    return bool(repeated) and bool(repeated.difference(map(_normalised, before[_BANNER_LINES:])))


def _identifies_start(line: str) -> bool:
    """Whether it is no ruler such as ``----``."""
    is_long = len(line) >= _MIN_BANNER_CHARS and any(map(str.isalpha, line))
    return is_long and not line.startswith(_TRACEBACK)


def _normalised(line: str) -> str:
    return _DIGITS.sub("0", line.strip())


def _job_ids(lines: Iterable[str]) -> set[str]:
    return {match[1] for line in lines if (match := _JOB_ID.search(line))}


def _last_time_s(lines: Sequence[str]) -> float | None:
    stamps_s = map(stamp_s, reversed(lines[-_NEAR_LINES:]))
    return next((each_s for each_s in stamps_s if each_s is not None), None)
