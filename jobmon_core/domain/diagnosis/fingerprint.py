"""What stays the same when the same failure happens again: on another rank, node or day.

Numbers, addresses and times go; the path of a file and a position in the data stay, since two failures at
the same record are one failure and two at different records may not be.
"""

from __future__ import annotations

import hashlib
import re

from jobmon_core.domain.diagnosis.log_text import without_label

_LENGTH = 16  # hexadecimal digits: 64 bits
_KEPT_CHARACTERS = 300  # of a line; what differs after them is rarely the failure
_VARIABLE = re.compile(
    # what is asked ahead is what each alternative begins with: it halves the time that most characters take
    r"(?=[\w~/.-])(?:"
    r"(?P<position>(?=(?i:[eiklors]))(?i:index|key|record|sample|row|offset|step|epoch|line|keyerror)"
    r"[ =:#]{1,3}\d+)"
    r"|(?P<path>~?/[^\s'\",;()\[\]<>]+|\b(?:[\w.-]+/[\w./-]+|[\w-]*\d[\w-]*\.(?:"
    r"arrow|bin|ckpt|csv|fits|gz|h5|hdf5|jpe?g|jsonl?|nc|np[yz]|parquet|pkl|png|pth?|rec|safetensors|tar|"
    r"tfrecord|tsv|txt|ya?ml|zip)\b))"
    r"|\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|[0-9a-f]*\d[0-9a-f]*\b)"
    r"|0x[0-9a-fA-F]+|\d[\d.:,TZ_-]*)"
)
_TEMPORARY = re.compile(r"/(?:tmp|dev/shm|proc)/")  # of one run
_OF_A_JOB = re.compile(
    r"(?i)(job[_-]?)\d+|(?<=/)\d{4,}(?=/|$)"
)  # parts of a path that differ from run to run


def fingerprint(identifier: str, line: str, frame: str = "") -> str:
    """Return 16 hexadecimal digits for a failure.

    Args:
        identifier: the id of the rule or cause.
        line: the line that proves it; empty where none does, or where it tells no more than the id.
        frame: the traceback's ``File "...", line N, in ...`` of the user's code; empty where there is none.
            Its line number does not count, as the code around it changes.
    """
    file, _, function = frame.strip().partition('", line ')
    text = "\n".join((identifier, normalised(line), _path(file), function.partition(", ")[2]))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_LENGTH]


def normalised(line: str) -> str:
    """Return a line without what differs from rank to rank and from run to run."""
    return _VARIABLE.sub(_replacement, without_label(line).strip()[:_KEPT_CHARACTERS])


def _replacement(match: re.Match[str]) -> str:
    if match.lastgroup == "path":
        return _path(match.group())
    return match.group() if match.lastgroup else "#"


def _path(path: str) -> str:
    """Return what of a path is the same in another run."""
    return "#" if _TEMPORARY.search(path) else _OF_A_JOB.sub(r"\1#", path)
