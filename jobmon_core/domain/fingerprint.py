"""What stays the same when the same failure happens again: on another rank, node or day.

Numbers, addresses and times go; the path of a file and a position in the data stay, since two failures at
the same record are one failure and two at different records may not be.
"""

from __future__ import annotations

import hashlib
import re

from jobmon_core.domain.text import without_label

_LENGTH = 16  # hexadecimal digits: 64 bits
_KEPT_CHARACTERS = 300  # of a line; what differs after them is rarely the failure
_VARIABLE = re.compile(
    r"(?P<position>(?i:index|key|record|sample|row|offset|step|epoch|line)[ =:#]{1,3}\d+)"
    r"|(?P<path>~?/[^\s'\",;()\[\]<>]+)"
    r"|0x[0-9a-fA-F]+|\d[\d.:,TZ_-]*"
)
_TEMPORARY = re.compile(r"/(?:tmp|dev/shm|proc)/")  # of one run


def fingerprint(identifier: str, line: str, frame: str = "") -> str:
    """Return 16 hexadecimal digits for a failure.

    Args:
        identifier: the id of the rule or cause.
        line: the line that proves it; empty where none does.
        frame: the traceback's ``File "...", line N, in ...`` of the user's code; empty where there is none.
            Its line number does not count, as the code around it changes.
    """
    file, _, function = frame.strip().partition('", line ')
    text = "\n".join((identifier, normalised(line), file, function.partition(", ")[2]))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_LENGTH]


def normalised(line: str) -> str:
    """Return a line without what differs from rank to rank and from run to run."""
    return _VARIABLE.sub(_replacement, without_label(line).strip()[:_KEPT_CHARACTERS])


def _replacement(match: re.Match[str]) -> str:
    kept = match.lastgroup and not _TEMPORARY.match(match.group())
    return match.group() if kept else "#"
