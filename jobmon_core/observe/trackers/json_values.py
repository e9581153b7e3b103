"""Numbers, times and names in the JSON that trackers keep, whose shape is not known."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from jobmon_core.observe.trackers.building import sound_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DEPTH = 4  # of names within names
_MAX_NAMES = 5_000
_MAX_TIME = 64  # characters


def object_of(content: object) -> dict[str, object]:
    """Return the object in JSON, a text or bytes; an empty one for anything else."""
    found = value_of(content)
    return found if isinstance(found, dict) else {}


def value_of(content: object) -> object:
    """Return the value of JSON, a text or bytes; None if it is damaged."""
    if not isinstance(content, str | bytes):
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def within(value: object, *names: str) -> object:
    """Return what an object has under a name, within that under the next, and so on; None if it has not."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def flat(record: Mapping[str, object]) -> dict[str, object]:
    """Return the values of an object and of those within it, by their names with dots between."""
    found: dict[str, object] = {}
    for name, value in _flat(record, "", _DEPTH):
        found[name] = value
        if len(found) >= _MAX_NAMES:
            break
    return found


def _flat(record: Mapping[str, object], prefix: str, levels: int) -> Iterator[tuple[str, object]]:
    for name, value in record.items():
        if isinstance(value, dict) and levels:
            yield from _flat(value, f"{prefix}{name}.", levels - 1)
        else:
            yield f"{prefix}{name}", value


def time_of(text: object) -> float | None:
    """Return the time (Unix seconds) in a text of ISO 8601, of UTC if it does not say; None for no time."""
    if not isinstance(text, str) or len(text) > _MAX_TIME:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return sound_time((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None
