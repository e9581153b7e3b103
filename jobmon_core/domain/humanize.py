"""Durations, sizes and counts as people read them."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def duration(seconds: float) -> str:
    """Format a duration in seconds: ``45s``, ``3m 05s``, ``2h 03m``, ``1d 04h``, and whole ones ``8h``."""
    whole = max(0, round(seconds))
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return _two_units(f"{days}d", hour, "h")
    if hours:
        return _two_units(f"{hours}h", minute, "m")
    return _two_units(f"{minutes}m", second, "s") if minutes else f"{second}s"


def _two_units(larger: str, number: int, unit: str) -> str:
    return f"{larger} {number:02}{unit}" if number else larger


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
