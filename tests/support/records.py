"""Hypothesis strategies for any record that our types allow."""

from __future__ import annotations

import dataclasses
import types
import typing
from enum import Enum
from typing import Any

from hypothesis import strategies as st

# all characters, and the lone surrogates that stand for undecodable bytes of file names
_TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.characters(categories=["Cs"], min_codepoint=0xDC00)
)
_LEAVES: dict[object, st.SearchStrategy[Any]] = {
    str: _TEXT,
    int: st.integers(-(2**63), 2**63),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    range: st.builds(range, st.integers(0, 99), st.integers(0, 99), st.integers(1, 9)),
}


def anything(kind: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 - a type hint is of no narrower type
    """Return a strategy for the values that a type hint allows."""
    arguments = typing.get_args(kind)
    origin = typing.get_origin(kind)
    if origin is types.UnionType:
        return st.one_of(st.none(), *(anything(each) for each in arguments if each is not type(None)))
    if origin is tuple:
        return st.lists(anything(arguments[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(_TEXT, anything(arguments[1]), max_size=2)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or issubclass(kind, tuple)):
        hints = typing.get_type_hints(kind)
        if dataclasses.is_dataclass(kind):
            fields = [field.name for field in dataclasses.fields(kind)]
        else:
            fields = [*hints]  # of a named tuple
        return st.builds(kind, **{name: anything(hints[name]) for name in fields})
    return _LEAVES[kind]
