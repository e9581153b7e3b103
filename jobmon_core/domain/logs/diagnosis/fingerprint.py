"""Fingerprints that are equal when the same failure happens again on another rank, node or day.

Numbers, addresses, times and the parts of paths that belong to one run are left out; ``index 5``,
``row 7`` and the like stay.
"""

from __future__ import annotations

import hashlib
import re

from jobmon_core.domain.logs.diagnosis.log_text import searched_text

_LENGTH = 16  # hexadecimal digits: 64 bits
_MAX_CHARACTERS = 300  # of a line; what follows rarely describes the failure
_VARIABLE = re.compile(
    # the lookahead lists the first characters of all alternatives, which halves the time of most searches
    r"(?=[\w~/.-])(?:"
    r"(?P<position>(?=(?i:[eiklors]))(?i:index|key|record|sample|row|offset|step|epoch|line|keyerror)"
    r"[ =:#]{1,3}\d+)"
    r"|(?P<path>~?/[^\s'\",;()\[\]<>]+|\b(?:[\w.-]+/[\w./-]+|[\w-]*\d[\w-]*\.(?:"
    r"arrow|bin|ckpt|csv|fits|gz|h5|hdf5|jpe?g|jsonl?|nc|np[yz]|parquet|pkl|png|pth?|rec|safetensors|tar|"
    r"tfrecord|tsv|txt|ya?ml|zip)\b))"
    r"|\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|[0-9a-f]*\d[0-9a-f]*\b)"
    r"|0x[0-9a-fA-F]+|\d[\d.:,TZ_-]*)"
)
_TEMPORARY = re.compile(r"/(?:tmp|dev/shm|proc)/")  # folders of one run
# parts of a path that differ from run to run
_JOB_SPECIFIC = re.compile(r"(?i)(job[_-]?)\d+|(?<=/)\d{4,}(?=/|$)")


def fingerprint(identifier: str, line: str, frame: str = "") -> str:
    """Return 16 hexadecimal digits that identify a failure.

    ``identifier`` is the id of the pattern or cause, ``line`` the log line that proves it, if any, ``frame``
    the line ``File "...", line N, in ...`` of the user's code, if any. The N is ignored, because it changes
    when the code before it is edited.
    """
    file, _, function = frame.strip().partition('", line ')
    failure = _VARIABLE.sub(_replacement, searched_text(line).strip()[:_MAX_CHARACTERS])
    text = "\n".join((identifier, failure, _path(file), function.partition(", ")[2]))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_LENGTH]


def _replacement(match: re.Match[str]) -> str:
    if match.lastgroup == "path":
        return _path(match.group())
    return match.group() if match.lastgroup else "#"


def _path(path: str) -> str:
    """Return a path without the parts that differ between runs."""
    return "#" if _TEMPORARY.search(path) else _JOB_SPECIFIC.sub(r"\1#", path)
