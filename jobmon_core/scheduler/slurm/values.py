"""Times and sizes as Slurm prints them. Pure and total: what makes no sense is None.

Source: ``secs2time_str`` and ``convert_num_unit`` of Slurm's ``src/common``; the commands are run with
``SLURM_TIME_FORMAT=%s``, so a point in time is a plain number of Unix seconds.
"""

from __future__ import annotations

import re

from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef, parse_listed

_DAY_S = 86_400
_MINUTE_S = 60
# where neither job nor partition has a limit, slurmctld gives a running job one of 365 days
_UNLIMITED_S = 365 * _DAY_S
_DIGITS = 18  # more than this is no number of seconds or bytes, only a way to fill the memory

_DURATION = re.compile(r"(?:(\d{1,9})-)?(?:(\d{1,9}):)?(\d{1,9}):(\d{1,9}(?:\.\d{1,9})?)", re.ASCII)
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)([KMGTPE]?)", re.ASCII)
_PAIR = re.compile(r"(\d{1,9}):(\d{1,9})", re.ASCII)
_FACTORS = {suffix: 1024**power for power, suffix in enumerate(("", "K", "M", "G", "T", "P", "E"))}


def number(text: str) -> int | None:
    """Read a plain non-negative number; ``N/A``, ``(null)`` and the like are None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def unix_time(text: str) -> int | None:
    """Read a point in time in Unix seconds; ``Unknown``, ``None`` and ``N/A`` are None."""
    return number(text) or None


def duration_s(text: str) -> float | None:
    """Read ``[[days-]hours:]minutes:seconds[.fraction]``."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = match.groups()
    return int(days or 0) * _DAY_S + int(hours or 0) * 3600 + int(minutes) * _MINUTE_S + float(seconds)


def limit_s(text: str) -> int | None:
    """Read a time limit as squeue and scontrol print it, in seconds; None where there is none."""
    length = duration_s(text)
    return _limited(None if length is None else int(length))


def limit_of_minutes_s(text: str) -> int | None:
    """Read a time limit as sacct's TimelimitRaw prints it (minutes), in seconds."""
    minutes = number(text)
    return _limited(None if minutes is None else minutes * _MINUTE_S)


def _limited(length_s: int | None) -> int | None:
    return None if length_s == _UNLIMITED_S else length_s


def size_bytes(text: str) -> int | None:
    """Read a size such as ``800M``, ``1.50G`` or ``98472K``; Slurm counts in powers of 1024."""
    match = _SIZE.fullmatch(text)
    return int(float(match[1]) * _FACTORS[match[2]]) if match else None


def tres(text: str) -> dict[str, str]:
    """Read a list of trackable resources: ``cpu=4,gres/gpu=2,mem=800M,node=1``."""
    pairs = (part.partition("=") for part in text.split(","))
    return {name: value for name, sign, value in pairs if sign}


def exit_pair(text: str) -> tuple[int | None, int | None]:
    """Read ``code:signal``; a signal of 0 is no signal."""
    match = _PAIR.fullmatch(text)
    return (int(match[1]), int(match[2]) or None) if match else (None, None)


_ABSURD = re.compile(r"\d{11}")  # no id and no index has so many digits
_MOST_TASKS = 4_000_001  # the highest MaxArraySize: whoever counts through more of them never comes back


def listed_id(text: str) -> tuple[JobRef, IndexSet | None] | None:
    """Read the id of a row, which may stand for many waiting tasks; None if it is no id."""
    if _ABSURD.search(text):
        return None
    try:
        ref, waiting = parse_listed(text)
    except ValueError:
        return None
    too_many = waiting is not None and (len(waiting) > _MOST_TASKS or _last(waiting) >= _MOST_TASKS)
    return None if too_many else (ref, waiting)


def _last(indices: IndexSet) -> int:
    return max((span[-1] for span in indices.spans), default=0)


def array_part(job_id: int, task: str) -> tuple[JobRef, IndexSet | None]:
    """Read which tasks of the array ``job_id`` a record is about: an index, or an expression of many."""
    found = listed_id(f"{job_id}_{task}") or listed_id(f"{job_id}_[{task}]")
    return found or (JobRef(job_id), None)
