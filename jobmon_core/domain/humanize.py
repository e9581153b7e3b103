"""Durations, sizes and counts as people read them."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def duration(seconds: float) -> str:
    """Format a duration in seconds: ``45s``, ``3m 05s``, ``2h 03m``, ``1d 04h``."""
    whole = max(0, round(seconds))
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days}d {hour:02}h"
    if hours:
        return f"{hours}h {minute:02}m"
    return f"{minutes}m {second:02}s" if minutes else f"{second}s"


def size(count_bytes: float) -> str:
    """Format a size in bytes: ``512 B``, ``1.5 GiB``."""
    value, unit = float(count_bytes), _UNITS[0]
    for larger in _UNITS[1:]:
        if round(value, 1) < 1024:  # noqa: PLR2004 - the base of binary units
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == _UNITS[0] else f"{value:.1f} {unit}"


def count(number: int, noun: str) -> str:
    """Format a number with its noun: ``1 task``, ``3 tasks``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
