"""Durations, sizes, counts and rates as people read them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

_SUFFIXES = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_MAX_S = 30 * 86_400.0
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e5, "k"))
_PRECISE = 100.0  # smaller numbers get a decimal
_SMALL = 1.0  # smaller numbers get two decimals, e.g. 0.04 of an epoch


def duration(seconds: float) -> str:
    """Format a duration in seconds: ``45s``, ``3m 05s``, ``2h 03m``, ``1d 04h``, ``8h`` (no minutes)."""
    whole = max(0, round(seconds))
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return _two_units(f"{days}d", hour, "h")
    if hours:
        return _two_units(f"{hours}h", minute, "m")
    return _two_units(f"{minutes}m", second, "s") if minutes else f"{second}s"


def seconds_of(text: str) -> float:
    """Parse a time of up to 30 days, e.g. ``300`` (seconds), ``5m`` or ``2h``; else raise ValueError."""
    number = text.strip()
    factor = _SUFFIXES.get(number[-1:], 0.0)
    try:
        value = float(number[:-1] if factor else number) * (factor or 1.0)
    except ValueError:
        value = -1.0
    if not (text.isascii() and 0 <= value <= _MAX_S):
        raise ValueError(f"{text!r} is not a time of up to 30 days; expected seconds, or e.g. 90s, 5m or 2h")
    return value


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
    """Format a number with its noun: ``1 task``, ``3,000 tasks``."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"


def joined(*texts: str) -> str:
    """Return the texts that are not empty, with commas between them."""
    return ", ".join(filter(None, texts))


def filled(template: str, value: object) -> str:
    """Return a part of a sentence with a value in it, e.g. ``on {}``; empty without a value."""
    return template.format(value) if value else ""


def text_of(value: T | None, text: Callable[[T], str], otherwise: str = "") -> str:
    """Return a value as a text, e.g. by `size`, unless it is not known."""
    return otherwise if value is None else text(value)


def listed(texts: Sequence[str], most: int, separator: str = ", ") -> str:
    """Return the first texts, and how many more there are: ``a, b and 3 more``, ``a; b; and 3 more``."""
    before = ";" if separator == "; " else ""
    more = f"{before} and {len(texts) - most:,} more" if len(texts) > most else ""
    return separator.join(texts[:most]) + more


def number(value: float) -> str:
    """Return a number of units: ``67,300``, ``12M``, ``2.5``, ``0.04``."""
    if not math.isfinite(value):
        return "?"
    for factor, letter in _LARGE[:3]:
        if abs(value) >= 10 * factor:
            return f"{value / factor:,.0f}{letter}"
    if value == round(value) or abs(value) >= _PRECISE:
        return f"{value:,.0f}"
    return f"{value:.2f}".rstrip("0").rstrip(".") if abs(value) < _SMALL else f"{value:.1f}"


def hours(value: float) -> str:
    """Return hours of GPUs or CPUs: ``1,204``, ``12.5``, ``0.02``."""
    if value >= _PRECISE:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 0.1 or not value else f"{value:.1g}"  # noqa: PLR2004 - else it would read 0.0


def money(amount: float, currency: str) -> str:
    """Return e.g. ``1,234.50 EUR``, ``0.0012 EUR``, ``0.0000028 EUR``."""
    text = f"{amount:,.2f}"
    if 0 < amount < 0.1:  # noqa: PLR2004 - it would read 0.00 to 0.10
        text = f"{amount:.2g}"
    if 0 < amount < 1e-4:  # noqa: PLR2004 - it would read 2.8e-06
        text = f"{amount:.{1 - math.floor(math.log10(amount))}f}"
    return f"{text} {currency}".rstrip()


def rate(per_s: float | None, unit: str = "") -> str:
    """Return a rate per second, minute or hour: ``251.3/s``, ``3.1 epochs/h``; empty without a valid one."""
    if per_s is None or not math.isfinite(per_s) or per_s < 0:
        return ""
    unit = f" {plural(unit)}" if unit else ""
    for seconds, name in ((1.0, "s"), (60.0, "min"), (3600.0, "h")):
        value = per_s * seconds
        if value >= 1 or name == "h":
            return f"{_short(value)}{unit}/{name}"
    return ""


def plural(unit: str) -> str:
    """Return the plural of the name of a unit."""
    if unit in ("", "it", "%") or unit.endswith("s"):
        return unit
    if unit.endswith("ry"):
        return f"{unit[:-1]}ies"
    return f"{unit}es" if unit.endswith(("ch", "x")) and unit != "epoch" else f"{unit}s"


def _short(value: float) -> str:
    for factor, letter in _LARGE:
        if value >= factor:
            scaled = value / (1e3 if letter == "k" else factor)
            return f"{scaled:.0f}{letter}" if scaled >= _PRECISE else f"{scaled:.1f}{letter}"
    return f"{value:,.0f}" if value >= 10 * _PRECISE else f"{value:.1f}"
