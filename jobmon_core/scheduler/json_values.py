"""Values of JSON that a service sent, whatever its form. What is not as expected is missing. Never raises."""

from __future__ import annotations

from typing import Any


def at(data: object, *path: str) -> Any:  # noqa: ANN401 - JSON
    """What is below these keys; None if there is nothing."""
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def text(data: object, *path: str) -> str:
    """The text there; empty if there is none."""
    value = at(data, *path)
    return value if isinstance(value, str) else ""


def number(data: object, *path: str) -> int | None:
    """The whole number there."""
    value = at(data, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number_or(default: int, data: object, *path: str) -> int:
    """The whole number there, else ``default``."""
    value = number(data, *path)
    return default if value is None else value


def dicts(data: object, *path: str) -> list[dict[str, Any]]:
    """The objects in the list there."""
    entries = at(data, *path)
    return [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []
