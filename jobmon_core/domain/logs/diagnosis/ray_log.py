"""What Ray adds to the log of its driver, which holds the output of all workers.

Read in the source of Ray 2.60 (``_private/ray_logging``, ``raylet/worker_killing_policy``) and in its logs.
"""

from __future__ import annotations

import re
from itertools import compress, count, repeat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon_core.domain.logs.diagnosis.patterns import Match


# the end of a line that stands for several, which are equal but for their numbers
_REPEATED_MARK = "x across cluster]"
_REPEATED = re.compile(r" \[repeated \d{1,9}x across cluster\](?: \(Ray dedup.*)?$")
# the first and the last line of the report on a node's memory, and how many lines it may have
_MEMORY_REPORT = "killed due to the node running low on memory"
_MEMORY_REPORT_END = "Refer to the documentation on how to address the out of memory issue"
_MAX_REPORT_LINES = 300
_SERVICES = ("(raylet", "(autoscaler", "(gcs_server")


def is_repeated(line: str) -> bool:
    """Whether a line stands for several; Ray prints such lines late, some twice."""
    return _REPEATED_MARK in line and _REPEATED.search(line) is not None


def is_of_service(label: str) -> bool:
    """Whether a label is that of a service of Ray, which reports about workers."""
    return label.startswith(_SERVICES)


def without_repeat_note(line: str) -> str:
    """Return a line without the note on how many it stands for."""
    return _REPEATED.sub("", line) if _REPEATED_MARK in line else line


def without_repeated(matches: Iterable[Match], texts: Sequence[str]) -> tuple[Match, ...]:
    """Return the matches without repeated lines of a failure that an earlier line shows."""
    known: set[str] = set()
    kept = []
    for match in matches:
        if match.pattern.id not in known or not is_repeated(texts[match.position]):
            kept.append(match)
        known.add(match.pattern.id)
    return tuple(kept)


def lines_of_memory_reports(texts: Sequence[str]) -> set[int]:
    """Return the positions of the lines that describe the node after a kill for lack of memory."""
    found: set[int] = set()
    for start in compress(count(), map(str.__contains__, texts, repeat(_MEMORY_REPORT))):
        for position in range(start + 1, min(len(texts), start + 1 + _MAX_REPORT_LINES)):
            if texts[position].startswith(_MEMORY_REPORT_END):
                found.update(range(start + 1, position + 1))
                break
    return found
