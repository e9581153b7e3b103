"""Convert records (frozen dataclasses, named tuples) to JSON and back; check values against the type hints.

Written by hand because any library for this would increase a monitor's memory by a seventh. Unknown keys are
ignored; a field without a key takes its default. ``JSON_KEYS`` of a class maps renamed fields to their keys.
Hints may be scalars, enums, ranges, records, ``T | None``, ``tuple[T, ...]`` and ``dict[str, T]``.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from enum import Enum
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

_SCALARS = frozenset((str, int, float, bool, type(None)))  # most values; not their subclasses, e.g. StrEnum
_MAX_INT = 2**63  # a larger number means a damaged file, and could overflow in arithmetic with floats


class DecodeError(ValueError):
    """The JSON does not match the record; the message says where."""


def to_json(value: object) -> Any:
    """Return ``value`` in types for `json.dumps`; fields that equal their plain default are left out."""
    kind: Any = type(value)
    if kind in _SCALARS:
        return value
    if (defaults := _defaults(kind)) is not None:
        keys = _json_keys(kind)
        return {
            keys.get(name, name): to_json(item)
            for name, default in defaults.items()
            if (item := getattr(value, name)) != default
        }
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, range):
        return [value.start, value.stop, value.step]
    return value.value if isinstance(value, Enum) else value


def from_json(kind: type[T], data: Any) -> T:
    """Build a record of ``kind`` from parsed JSON.

    Raises:
        DecodeError: the JSON does not match, or a key without a default is missing; the message says where.
    """
    return typing.cast("T", _build(kind, data, "$"))


def _build(kind: Any, data: Any, path: str) -> Any:
    if type(data) is kind and kind is not int:  # a fast path: most values of a large file are such scalars
        return data
    try:
        return _build_any(kind, data, path)
    except DecodeError:  # its message names the place already
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise DecodeError(f"{path}: {error}") from error


def _build_any(kind: Any, data: Any, path: str) -> Any:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (option for option in typing.get_args(kind) if option is not type(None))
        return None if data is None else _build(inner, data, path)
    if origin is tuple:
        item, values = typing.get_args(kind)[0], _checked(list, data, path)
        return tuple(_build(item, value, f"{path}[{i}]") for i, value in enumerate(values))
    if origin is dict:
        item, members = typing.get_args(kind)[1], _checked(dict, data, path)
        return {key: _build(item, value, f"{path}.{key}") for key, value in members.items()}
    if _defaults(kind) is not None:
        return _build_record(kind, _checked(dict, data, path), path)
    if kind is range:
        return range(*_build(tuple[int, ...], data, path))
    return _build_scalar(kind, data, path)


def _build_record(kind: Any, data: dict[str, Any], path: str) -> Any:
    keys = _json_keys(kind)
    values = {
        name: _build(hint, data[key], f"{path}.{key}")
        for name, hint in _hints(kind).items()
        if (key := keys.get(name, name)) in data
    }
    return kind(**values)


def _build_scalar(kind: Any, data: Any, path: str) -> Any:
    if issubclass(kind, Enum):
        return kind(data)
    if kind is float and type(data) is int:
        return float(data)
    if kind is int and type(data) is int and not -_MAX_INT <= data <= _MAX_INT:
        raise DecodeError(f"{path}: integer of {data.bit_length()} bits is too large")
    return _checked(kind, data, path)


def _checked(kind: type[T], data: Any, path: str) -> T:
    if type(data) is not kind:
        raise DecodeError(f"{path}: expected {kind.__name__}, found {type(data).__name__}")
    return data


@cache
def _defaults(kind: Any) -> dict[str, Any] | None:
    """Return the fields of a record type with their defaults; None for any other type."""
    if dataclasses.is_dataclass(kind):
        return {field.name: field.default for field in dataclasses.fields(kind)}
    if hasattr(kind, "_field_defaults"):
        return {name: kind._field_defaults.get(name, dataclasses.MISSING) for name in kind._fields}
    return None


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {name: hints[name] for name in _defaults(kind) or ()}


def _json_keys(kind: type) -> dict[str, str]:
    return getattr(kind, "JSON_KEYS", {})
