"""Check MessagePack files, as flax saves them: the lengths that the values state against the file's size.

Format: msgpack/msgpack, spec.md ("Formats").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.observe.artifacts.formats.source import Corrupt, NotChecked, Truncated, valid

if TYPE_CHECKING:
    from jobmon_core.domain.artifacts.model import FileCheck
    from jobmon_core.observe.artifacts.formats.source import Source

_WINDOW = 512  # bytes read at once, from the start of a value; the data of long values are skipped
_LONGEST = 5  # at most this many bytes at the start of a value say how long it is
_VALUE_COST = 16  # to look at a value takes as long as to read so many bytes


class _Kind(NamedTuple):
    """What follows the first byte of a value: data bytes, or the members of an array or a map."""

    length_bytes: int = 0  # bytes of the field that says how many; 0: the first byte says it
    fixed: int = 0  # how many, if the first byte says it
    extra: int = 0  # bytes beside the data: the type of an extension
    values_each: int = 0  # values in each member: 1 in an array, 2 in a map; 0: bytes follow, not members


def _kinds() -> dict[int, _Kind]:
    kinds = dict.fromkeys((*range(0x80), 0xC0, 0xC2, 0xC3, *range(0xE0, 0x100)), _Kind())
    for number in range(16):
        kinds[0x80 + number] = _Kind(fixed=number, values_each=2)
        kinds[0x90 + number] = _Kind(fixed=number, values_each=1)
    kinds |= {0xA0 + length: _Kind(fixed=length) for length in range(32)}
    kinds |= {0xCA: _Kind(fixed=4), 0xCB: _Kind(fixed=8)}
    for power in range(4):  # integers
        kinds[0xCC + power] = kinds[0xD0 + power] = _Kind(fixed=2**power)
    for power in range(5):  # extensions of a fixed length
        kinds[0xD4 + power] = _Kind(fixed=2**power, extra=1)
    for power in range(3):  # bytes, extensions and texts
        kinds[0xC4 + power] = kinds[0xD9 + power] = _Kind(length_bytes=2**power)
        kinds[0xC7 + power] = _Kind(length_bytes=2**power, extra=1)
    for power in (1, 2):
        kinds[0xDB + power] = _Kind(length_bytes=2**power, values_each=1)
        kinds[0xDD + power] = _Kind(length_bytes=2**power, values_each=2)
    return kinds


_KINDS = _kinds()


def check_msgpack(source: Source, max_bytes: int) -> FileCheck:
    """Return the content of a file of one or more values; the data of texts and binary values are skipped."""
    if not source.read_at(0, _WINDOW).strip(b"\0"):
        raise Corrupt("begins with NUL bytes: data were lost, e.g. when the node crashed")
    position = begin = cost = 0
    data = b""
    missing = 1  # values that must follow
    while missing or position < source.size:
        if cost >= max_bytes:
            raise NotChecked("has more values than jobmon reads")
        if position + _LONGEST > begin + len(data):
            begin, data = position, source.read_at(position, _WINDOW)
            cost += len(data)
        cost += _VALUE_COST
        step, values = _next_value(data[position - begin : position - begin + _LONGEST])
        position += step
        missing = max(missing - 1, 0) + values
        if source.size < (needed := position + missing):  # each value has at least one byte
            raise Truncated(f"has {source.size:,} of at least {needed:,} bytes")
    return valid("msgpack", is_sampled=True)


def _next_value(data: bytes) -> tuple[int, int]:
    if not data:
        raise Truncated("ends before its last value")
    kind = _KINDS.get(data[0])
    if kind is None:
        raise Corrupt("has a byte that begins no value of MessagePack")
    if len(data) <= kind.length_bytes:
        raise Truncated("ends inside a value")
    count = int.from_bytes(data[1 : 1 + kind.length_bytes], "big") if kind.length_bytes else kind.fixed
    before = 1 + kind.length_bytes + kind.extra
    if kind.values_each:
        return (before, count * kind.values_each)
    return (before + count, 0)
