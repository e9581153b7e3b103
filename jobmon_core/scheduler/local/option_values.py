"""The values of options, read as sbatch and slurmctld read them (checked against 22.05)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.job_ids import IndexSet

if TYPE_CHECKING:
    from collections.abc import Mapping

_DAY_S = 86_400
_HOUR_S = 3_600
_MINUTE_S = 60
_NO_LIMIT = ("INFINITE", "UNLIMITED", "-1")

# days-, days-hours, days-hours:minutes, days-hours:minutes:seconds
_DAYS = re.compile(r"(\d{1,9})-(?:(\d{1,9})(?::(\d{1,9})(?::(\d{1,9}))?)?)?", re.ASCII)
# minutes, minutes:seconds, hours:minutes:seconds
_CLOCK = re.compile(r"(?:(?:(\d{1,9}):)?(\d{1,9}):(\d{1,9}))|(\d{1,9})", re.ASCII)

_SPAN = r"\d{1,7}(?:-\d{1,7}(?::\d{1,7})?)?"
_ARRAY = re.compile(rf"\[?({_SPAN}(?:,{_SPAN})*),?\]?(?:%\d*)?", re.ASCII)
_TASKS_LIMIT = 100_000  # each task leaves a file
_INDEX_LIMIT = 4_000_000  # slurmctld's own highest MaxArraySize

_BASICS = ("HOME", "LOGNAME", "PATH", "SHELL", "USER")


def limit_s(text: str) -> int | None:
    """Read a time limit in any of Slurm's forms, in seconds; None for no limit.

    Slurm rounds up to whole minutes; here ``0:02`` is two seconds.

    Raises:
        SchedulerRejected: it is no time limit.
    """
    if text.upper() in _NO_LIMIT:
        return None
    if days := _DAYS.fullmatch(text):
        day, hour, minute, second = (int(number or 0) for number in days.groups())
        return (day * _DAY_S + hour * _HOUR_S + minute * _MINUTE_S + second) or None
    if clock := _CLOCK.fullmatch(text):
        hour, minute, second, plain = (int(number or 0) for number in clock.groups())
        return (hour * _HOUR_S + (minute + plain) * _MINUTE_S + second) or None
    raise SchedulerRejected("Invalid --time specification")


def array_indices(text: str) -> list[int]:
    """Read the indices of an array such as ``1-9:2,12%4``; none for an empty text.

    The throttle behind ``%`` says nothing here: the tasks run one at a time.

    Raises:
        SchedulerRejected: it is no array, or one too large.
    """
    if not text.strip():
        return []
    match = _ARRAY.fullmatch(text.lstrip())
    if match is None or any(_is_void(span) for span in match[1].split(",")):
        raise SchedulerRejected("Invalid job array specification")
    indices = IndexSet.parse(match[1])
    if len(indices) > _TASKS_LIMIT or any(span[-1] > _INDEX_LIMIT for span in indices.spans):
        raise SchedulerRejected(
            f"Invalid job array specification: at most {_TASKS_LIMIT} tasks, the highest {_INDEX_LIMIT}"
        )
    return sorted(set(indices))


def _is_void(span: str) -> bool:
    """Whether a span runs backwards or takes no steps."""
    bounds, colon, step = span.partition(":")
    first, _, last = bounds.partition("-")
    return int(last or first) < int(first) or (bool(colon) and int(step) == 0)


def open_mode(text: str) -> bool:
    """Return whether ``--open-mode`` asks to append.

    Raises:
        SchedulerRejected: it asks for neither append nor truncate.
    """
    if text.lower() not in ("", "a", "append", "t", "truncate"):
        raise SchedulerRejected("Invalid --open-mode specification")
    return text.lower().startswith("a")


def exported(environment: Mapping[str, str], export: str) -> dict[str, str]:
    """Return the variables that ``--export`` lets through.

    ``NONE``, ``NIL`` and a list without ``ALL`` leave but the few that every program needs.
    """
    words = _split(export) or ["ALL"]
    everything = any(word.upper() == "ALL" for word in words)
    kept = {name: value for name, value in environment.items() if everything or name in _BASICS}
    for word in words:
        name, sign, value = word.partition("=")
        if sign and name:
            kept[name] = value
        elif name in environment:
            kept[name] = environment[name]
    return kept


def _split(export: str) -> list[str]:
    """Split at the commas that stand outside quotes; the quotes stay, as sbatch leaves them."""
    return [word for word in re.findall(r"""(?:"[^"]*"|'[^']*'|[^,])+""", export) if word]
