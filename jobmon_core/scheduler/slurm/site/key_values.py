"""Read the one-line records of ``scontrol -o show``: ``Key=value Key=value``. Never raises."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_NONE = ("", "(null)", "N/A", "n/a", "NONE", "None")


def records(text: str, first_key: str) -> Iterator[str]:
    """Yield each record that begins with ``first_key``; other lines are skipped."""
    return (line for line in text.split("\n") if line.startswith(f"{first_key}="))


def value(record: str, key: str) -> str:
    """Return the first value of a key, up to a blank; empty if it is missing or means "none"."""
    match = re.search(rf"(?<!\S){re.escape(key)}=(\S*)", record)
    return "" if match is None or match[1] in _NONE else match[1]


def values(record: str, key: str) -> tuple[str, ...]:
    """Return the parts of a list with commas."""
    text = value(record, key)
    return tuple(text.split(",")) if text else ()
