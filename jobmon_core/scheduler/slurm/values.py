"""Times, sizes, exit codes and job ids as Slurm prints them. Never raises: an invalid value is None.

Source: ``secs2time_str`` and ``convert_num_unit`` of ``src/common``; ``SLURM_TIME_FORMAT=%s`` makes the
commands print Unix seconds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef, parse_listed

if TYPE_CHECKING:
    from collections.abc import Mapping

Version = tuple[int, int]

_DAY_S = 86_400
_MINUTE_S = 60
# what Slurm prints for a running job if neither the job nor its partition has a limit
_UNLIMITED_S = 365 * _DAY_S
_MAX_DIGITS = 18
_MAX_ID_DIGITS = 10
_MAX_ARRAY_SIZE = 4_000_001

_DURATION = re.compile(r"(?:(\d{1,9})-)?(?:(\d{1,9}):)?(\d{1,9}):(\d{1,9}(?:\.\d{1,9})?)", re.ASCII)
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)([KMGTPE]?)", re.ASCII)
_PAIR = re.compile(r"(\d{1,9}):(\d{1,9})", re.ASCII)
_VERSION = re.compile(r"^slurm\S* (\d{1,4})\.(\d{1,4})\b", re.ASCII | re.MULTILINE)
_OVERLONG_ID = re.compile(rf"\d{{{_MAX_ID_DIGITS + 1}}}")
_FACTORS = {suffix: 1024**power for power, suffix in enumerate(("", "K", "M", "G", "T", "P", "E"))}


def number(text: str) -> int | None:
    """Plain and non-negative."""
    if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
        return int(text)
    return None


def unix_time(text: str) -> int | None:
    """A point in time."""
    return number(text) or None


def duration_s(text: str) -> float | None:
    """``[[days-]hours:]minutes:seconds[.fraction]``."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = match.groups()
    return int(days or 0) * _DAY_S + int(hours or 0) * 3600 + int(minutes) * _MINUTE_S + float(seconds)


def limit_s(text: str) -> int | None:
    """As squeue and scontrol print it; None without a limit."""
    length = duration_s(text)
    return _limited(None if length is None else int(length))


def limit_of_minutes_s(text: str) -> int | None:
    """As sacct's TimelimitRaw prints it."""
    minutes = number(text)
    return _limited(None if minutes is None else minutes * _MINUTE_S)


def _limited(length_s: int | None) -> int | None:
    if length_s == _UNLIMITED_S:
        return None
    return length_s


def size_bytes(text: str) -> int | None:
    """``800M``, ``1.50G`` or ``98472K``; Slurm counts in powers of 1024."""
    match = _SIZE.fullmatch(text)
    if match:
        return int(float(match[1]) * _FACTORS[match[2]])
    return None


def requested_bytes(fields: Mapping[str, str], *names: str) -> int | None:
    """The memory of a job, by the first of these TRES fields that has it."""
    sizes = (size_bytes(tres(fields.get(name, "")).get("mem", "")) for name in names)
    return next((size for size in sizes if size), None)


def tres(text: str) -> dict[str, str]:
    """A list of trackable resources: ``cpu=4,gres/gpu=2,mem=800M,node=1``."""
    pairs = (part.partition("=") for part in text.split(","))
    return {name: value for name, sign, value in pairs if sign}


def exit_pair(text: str) -> tuple[int | None, int | None]:
    """``code:signal``; 0 is no signal."""
    match = _PAIR.fullmatch(text)
    if match:
        return (int(match[1]), int(match[2]) or None)
    return (None, None)


def version(text: str) -> Version | None:
    """(25, 11) of ``slurm 25.11.7``."""
    match = _VERSION.search(text)
    if match:
        return (int(match[1]), int(match[2]))
    return None


def listed_id(text: str) -> tuple[JobRef, IndexSet | None] | None:
    """The id of a row, and the indices that it stands for."""
    if _OVERLONG_ID.search(text):
        return None
    try:
        ref, pending = parse_listed(text)
    except ValueError:
        return None
    is_too_large = False
    if pending is not None:
        last = max((span[-1] for span in pending.spans), default=0)
        is_too_large = max(len(pending), last + 1) > _MAX_ARRAY_SIZE
    if is_too_large:
        return None
    return (ref, pending)


def array_part(job_id: int, task: str) -> tuple[JobRef, IndexSet | None]:
    """The tasks of an array that a record describes."""
    part = listed_id(f"{job_id}_{task}") or listed_id(f"{job_id}_[{task}]")
    return part or (JobRef(job_id), None)
