"""Convert records (frozen dataclasses, named tuples) to JSON and back; check values against the type hints.

Written by hand because any library for this would increase a monitor's memory by a seventh. Unknown keys are
ignored; a field without a key takes its default. ``JSON_KEYS`` of a class maps renamed fields to their keys;
``upgraded`` of a class turns the JSON object of an earlier version into that of this one.
Hints may be scalars, enums, ranges, records, ``T | None``, ``tuple[T, ...]`` and ``dict[str, T]``.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from enum import Enum
from functools import cache, partial
from typing import Any, TypeVar

T = TypeVar("T")

_SCALARS = frozenset((str, int, float, bool, type(None)))  # the types of most values; a StrEnum has its own
_MAX_INT = 2**63  # a larger number means a damaged file, and could overflow in arithmetic with floats
_ERRORS = (TypeError, ValueError, OverflowError)  # also of the checks that a record makes itself
_Builder = Callable[[Any], Any]  # from parsed JSON to a value; raises one of `_ERRORS`


class DecodeError(ValueError):
    """The JSON does not match the record; the message says where."""

    def __init__(self, place: str, reason: str) -> None:
        """Name the place below the whole document, e.g. ``.parts[1]``."""
        super().__init__(f"${place}: {reason}")
        self.place, self.reason = place, reason


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
    """Build a record of ``kind`` from parsed JSON; DecodeError says where they differ."""
    try:
        return typing.cast("T", _builder(typing.cast("Any", kind))(data))
    except _ERRORS as error:
        raise _below("", error) from error


def _below(step: str, error: Exception) -> DecodeError:
    """Return the error of a part as one of its container; ``step`` leads from the container to the part."""
    if isinstance(error, DecodeError):
        return DecodeError(step + error.place, error.reason)
    return DecodeError(step, str(error))


@cache
def _builder(kind: Any) -> _Builder:
    """Return the function that builds values of ``kind``; cached, as finding it is slower than using it."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (option for option in typing.get_args(kind) if option is not type(None))
        build = _builder(inner)
        return lambda data: None if data is None else build(data)
    if origin is tuple:
        return partial(_build_tuple, _builder(typing.get_args(kind)[0]))
    if origin is dict:
        return partial(_build_dict, _builder(typing.get_args(kind)[1]))
    if _defaults(kind) is not None:
        return partial(_build_upgraded if hasattr(kind, "upgraded") else _build_record, kind)
    if issubclass(kind, Enum):
        return partial(kind)
    return _BUILDERS.get(kind, partial(_checked, kind))


def _build_tuple(build: _Builder, data: Any) -> tuple[Any, ...]:
    try:
        return tuple([build(value) for value in _checked(list, data)])
    except _ERRORS:
        for index, value in enumerate(_checked(list, data)):
            try:
                build(value)
            except _ERRORS as error:
                raise _below(f"[{index}]", error) from error
        raise


def _build_dict(build: _Builder, data: Any) -> dict[str, Any]:
    values = {}
    for key, value in _checked(dict, data).items():
        try:
            values[key] = build(value)
        except _ERRORS as error:
            raise _below(f".{key}", error) from error
    return values


def _build_record(kind: Any, data: Any) -> Any:
    members, values, plain = _checked(dict, data), {}, _plain_fields(kind)
    for key, value in members.items():
        if key not in plain or type(value) is not plain[key]:
            break
    else:  # as of thousands of samples: a call for each value would take twice as long
        return kind(**members)
    for name, key, build in _fields(kind):
        if key in members:
            try:
                values[name] = build(members[key])
            except _ERRORS as error:
                raise _below(f".{key}", error) from error
    return kind(**values)


def _build_upgraded(kind: Any, data: Any) -> Any:
    """Build a record whose ``upgraded`` turns the JSON of earlier versions into that of today."""
    try:
        members = kind.upgraded(_checked(dict, data))
    except (AttributeError, KeyError) as error:
        raise ValueError(f"it cannot be upgraded: {error!r}") from error
    return _build_record(kind, members)


def _build_float(data: Any) -> float:
    return float(data) if type(data) is int else _checked(float, data)


def _build_int(data: Any) -> int:
    number = _checked(int, data)
    if not -_MAX_INT <= number <= _MAX_INT:
        raise ValueError(f"integer of {number.bit_length()} bits is too large")
    return number


def _build_range(data: Any) -> range:
    return range(*_builder(tuple[int, ...])(data))


_BUILDERS: dict[Any, _Builder] = {int: _build_int, float: _build_float, range: _build_range}


def _checked(kind: type[T], data: Any) -> T:
    if type(data) is not kind:
        raise TypeError(f"expected {kind.__name__}, found {type(data).__name__}")
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
def _fields(kind: Any) -> tuple[tuple[str, str, _Builder], ...]:
    """Return the fields of a record type: their names, their keys in JSON, and what builds their values."""
    hints, keys = typing.get_type_hints(kind), _json_keys(kind)
    return tuple((name, keys.get(name, name), _builder(hints[name])) for name in _defaults(kind) or ())


@cache
def _plain_fields(kind: Any) -> dict[str, type]:
    """Return the type of most values of each field that takes all values of this type as they are."""
    hints, keys = typing.get_type_hints(kind), _json_keys(kind)
    return {
        name: plain
        for name in _defaults(kind) or ()
        for plain in (str, float, bool)
        if name not in keys and hints[name] in (plain, plain | None)
    }


def _json_keys(kind: type) -> dict[str, str]:
    return getattr(kind, "JSON_KEYS", {})
