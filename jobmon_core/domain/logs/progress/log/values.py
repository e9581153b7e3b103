"""Read numbers, durations and labels as logs print them."""

from __future__ import annotations

import math
import re
from calendar import timegm

_SUFFIXES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "B": 1.0}
_STAMP = re.compile(r"\b(20\d\d)[-/](\d\d)[-/](\d\d)[ T_](\d\d):(\d\d):(\d\d)(?!\d)")
_DAYS = re.compile(r"(\d{1,6}) days?,? ?")
_UNITS_S = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_WITH_UNITS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|secs?|min|[smhd])")
_CLOCK = re.compile(r"\d{1,9}(?::\d{1,9}){0,3}(?:\.\d{1,9})?")
_MAX_LABEL = 40
_LARGEST = 1e15  # products of two such counts are finite
# a time, a rank, a process or a host in front of the label of a bar
_PREFIXES = re.compile(
    r"^(?:\s*(?:\[[^\]]{0,60}\]:?|\([^)]{0,60}\bpid=[^)]{0,40}\)|\d+:|[\d-]{8,10}[ T][\d:.,]{5,16}Z?|"
    r"(?:INFO|DEBUG|WARNING)\b:?|[-|]\s))+\s*"
)
_NUMBERS = re.compile(r"[-+]?\d[\d.,:e+/-]*%?")
_SYMBOLS = re.compile(r"[^\w()@. ]+|_|\s+")
BYTE = "byte"  # the unit of `5.2MB/s` and `13.1MiB/s`
_BYTES = re.compile(r"[kmgt]?i?b(?:ytes?)?")
_MOST_INEXACT = 0.05  # a percentage whose rounding leaves a total open by more gives none
# units of rates and of counts
_ITEMS = frozenset({
    "file", "image", "img", "example", "ex", "sample", "request", "req", "prompt", "task", "item", "seq",
    "sequence", "row", "doc", "record",
})  # fmt: skip
_STEPS = frozenset(
    {"", "it", "its", "iter", "iters", "iteration", "iterations", "step", "steps", "update", "updates"}
)


def number(text: str) -> float | None:
    """Return the value of ``12``, ``1,200``, ``1.5k``, ``1e-5``, ``nan`` or ``inf``."""
    try:
        value = float(text)
    except ValueError:
        text = text.strip().strip("'\"").replace(",", "")
    else:
        return value
    factor = 1.0
    while text and text[-1] in _SUFFIXES:
        factor *= _SUFFIXES[text[-1]]
        text = text[:-1]
    try:
        return float(text) * factor
    except ValueError:
        return None


def count_of(text: str) -> float | None:
    """Return the value of a count; None for ``?``, ``Unknown`` and what no count can be."""
    value = number(text)
    return value if value is not None and abs(value) <= _LARGEST else None


def total_of_share(n: float, percent: str) -> float | None:
    """Return the roundest total of which ``n`` is the printed share, unless rounding leaves it open."""
    share, half = count_of(percent), 0.5 * 10.0 ** -len(percent.partition(".")[2])
    if n <= 0 or not share or share <= half:
        return None
    least, most = 100 * n / (share + half), 100 * n / (share - half)
    if most - least > max(1.0, _MOST_INEXACT * most):
        return None
    step = 10.0 ** math.floor(math.log10(most))
    while step >= 1 and math.floor(most / step) * step < least:
        step /= 10
    return math.floor(most / step) * step if step >= 1 else float(round(100 * n / share))


def duration_s(text: str) -> float | None:
    """Return the seconds of ``02:05``, ``1 day, 2:40:00``, ``12.5``, ``36 s`` or ``1h 2m``."""
    text = text.strip()
    total = 0.0
    days = _DAYS.match(text)
    if days:
        total, text = int(days[1]) * 86400.0, text[days.end() :]
    if _CLOCK.fullmatch(text):
        parts = [float(part) for part in text.split(":")]
        if len(parts) == 4:  # noqa: PLR2004 - days:hours:minutes:seconds
            parts = [parts[0] * 24 + parts[1], *parts[2:]]
        seconds = 0.0
        for part in parts:
            seconds = seconds * 60 + part
        return total + seconds
    found = _WITH_UNITS.findall(text)
    if not found and (text or not days):
        return None
    return total + sum(float(value) * _UNITS_S[unit] for value, unit in found)


def stamp_s(text: str) -> float | None:
    """Return the first time stamp with a date, without a time zone: only differences count."""
    found = _STAMP.search(text)
    if found is None or not "01" <= found[2] <= "12":  # timegm accepts no other month
        return None
    return float(timegm(tuple(map(int, found.groups()))))


def rate_per_s(value: str, unit: str) -> float | None:
    """Return a rate such as ``2.40`` ``it/s`` or ``3.1`` ``s/it``."""
    rate = count_of(value)
    if rate is None or rate <= 0:
        return None
    rate = 1.0 / rate if unit.strip().startswith("s/") else rate
    return rate if math.isfinite(rate) else None


def counted_unit(text: str) -> str:
    """Return the singular unit: ``item`` for ``img/s``, ``step`` for ``it/s``."""
    name = text.strip().removesuffix("/s").removeprefix("s/").strip().lower()
    if name in _STEPS:
        return "step"
    if name == "batches":
        return "batch"
    if _BYTES.fullmatch(name):
        return BYTE
    singular = name.removesuffix("s") if len(name) > 2 else name  # noqa: PLR2004 - "us", "B"
    if singular in _ITEMS:
        return "item"
    return singular


def plain_label(text: str) -> str:
    """Return what all labels of a bar have in common: no prefixes, numbers and symbols."""
    text = _NUMBERS.sub(" ", _PREFIXES.sub("", text))
    return " ".join(_SYMBOLS.sub(" ", text).split()).strip(" .")[:_MAX_LABEL].strip()
