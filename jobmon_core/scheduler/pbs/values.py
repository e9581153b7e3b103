"""Job ids, times and sizes as PBS writes them. Never raises: an invalid value is None.

Sources: ``qstat(1B)``, ``pbs_resources(7B)`` and ``src/cmds/qstat.c`` of OpenPBS 23.06; recorded answers.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from functools import reduce

from jobmon_core.domain.slurm.job_ids import JobRef

# 123.server, of an array 123[].server, of one of its subjobs 123[7].server; qstat cuts off a long server
_ID = re.compile(r"(\d{1,10})(?:\[(\d{0,10})\])?(?:\.\S*)?", re.ASCII)
_DURATION = re.compile(r"((?:\d{1,9}:){0,2}\d{1,9})(?:\.\d{1,9})?", re.ASCII)
_SIZE = re.compile(r"(\d{1,18})([kmgtp]?)([bw]?)", re.ASCII)
_PREFIXES = ("", *"kmgtp")
_CTIME = "%a %b %d %H:%M:%S %Y"


def job_of(text: str) -> tuple[JobRef, bool] | None:
    """The job that an id names, and whether it is a whole array."""
    match = _ID.fullmatch(text)
    if match is None:
        return None
    index = match[2]
    return JobRef(int(match[1]), int(index) if index else None), index == ""


def unix_time(text: str) -> int | None:
    """``Sun Nov 22 07:50:21 2026``, in the time zone of this process, as qstat prints it."""
    with suppress(ValueError, OverflowError):
        return int(time.mktime(time.strptime(text, _CTIME)))  # of a clock, never fractional
    return None


def duration_s(text: str) -> int | None:
    """``[[hours:]minutes:]seconds[.fraction]``."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    return reduce(lambda total, part: total * 60 + int(part), match[1].split(":"), 0)


def size_bytes(text: str) -> int | None:
    """``3212kb``, ``4gb`` or ``2mw``: words have 8 bytes, prefixes are powers of 1024."""
    match = _SIZE.fullmatch(text.lower())
    if match is None:
        return None
    unit = 8 if match[3] == "w" else 1
    return unit * int(match[1]) << 10 * _PREFIXES.index(match[2])


def number(text: str) -> int | None:
    """A whole number, also a negative one."""
    with suppress(ValueError):
        return int(text)
    return None
