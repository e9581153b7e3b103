"""Attributes of a record as keys of a JSON object."""

from __future__ import annotations

from typing import Any


def fields(record: object, *names: str, **renamed: str) -> dict[str, Any]:
    """Return attributes of a record by their names, or by the keys of those that are ``renamed``.

    E.g. ``fields(job, "name", as_of="answered_s")``. A tuple becomes a list; of None, each value is null.
    """
    attributes = {**dict(zip(names, names, strict=True)), **renamed}
    return {key: _value(record, attribute) for key, attribute in attributes.items()}


def known_fields(record: object, *names: str, **renamed: str) -> dict[str, Any]:
    """Return attributes as `fields` does; what is empty or 0 is null."""
    return {key: value or None for key, value in fields(record, *names, **renamed).items()}


def _value(record: object, attribute: str) -> object:
    value = None if record is None else getattr(record, attribute)
    if isinstance(value, tuple):
        return [*value]
    return value
