"""Check arrays of NumPy (``.npy``) and safetensors: the size that the header implies against the file's.

Formats: numpy.lib.format; huggingface/safetensors, README ("Format").
"""

from __future__ import annotations

import ast
import re
from array import array
from math import isfinite, prod
from typing import TYPE_CHECKING, Any

from jobmon_core.observe.artifacts.formats.json_file import decoded
from jobmon_core.observe.artifacts.formats.source import (
    PIECE,
    Corrupt,
    NotChecked,
    Truncated,
    expect_size,
    number_at,
    valid,
)

if TYPE_CHECKING:
    from jobmon_core.domain.artifacts.model import FileCheck
    from jobmon_core.observe.artifacts.formats.source import Source


NPY_SIGNATURE = b"\x93NUMPY"
_KEYS = {"descr", "fortran_order", "shape"}
_TYPE = re.compile(r"[<>|=]?([?biufcmMSUVaO])(\d{1,9})?(?:\[.*\])?")
_WIDE = {"U": 4}  # bytes of a character
_MAX_NPY_HEADER = 2**16
_MAX_SIZE = 2**63


def check_npy(source: Source, max_bytes: int) -> FileCheck:  # noqa: ARG001 - all checks have this form
    """Return the content of an array file; of its data, at most the start and the end are read."""
    start, header = _header(source)
    shape, count = header["shape"], prod(header["shape"])
    item = _item_size(header["descr"])
    if item is None:
        raise NotChecked("holds pickled Python objects, which jobmon does not load")
    expect_size(source.size, start + count * item)
    note = _not_finite(source, start, start + count * item, header["descr"])
    columns = shape[1] if len(shape) == 2 else None  # noqa: PLR2004 - a table
    return valid("npy", shape[0] if shape else None, columns, note, is_sampled=True)


def _header(source: Source) -> tuple[int, dict[str, Any]]:
    head = source.read_at(0, 12)
    version = number_at(head, 6, 1)
    start, length = (10, number_at(head, 8, 2)) if version == 1 else (12, number_at(head, 8, 4))
    if version not in (1, 2, 3) or length > _MAX_NPY_HEADER:
        raise Corrupt("is npy with an impossible header")
    expect_size(source.size, start + length)
    try:
        header = ast.literal_eval(source.read_at(start, length).decode("utf-8").strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):  # the parser's own limits are MemoryErrors
        raise Corrupt("is npy with a damaged header") from None
    if not isinstance(header, dict) or not header.keys() >= _KEYS or not _is_shape(header["shape"]):
        raise Corrupt("is npy with a damaged header")
    return start + length, header


def _is_shape(shape: object) -> bool:
    return (
        isinstance(shape, tuple)
        and len(shape) <= 64  # noqa: PLR2004 - the limit of NumPy 2
        and all(type(each) is int and 0 <= each < _MAX_SIZE for each in shape)
        and prod(shape) < _MAX_SIZE
    )


def _item_size(descr: object) -> int | None:
    """Return the bytes of one element; None if it holds Python objects."""
    match descr:
        case str() if found := _TYPE.fullmatch(descr):
            if found[1] == "O":
                return None
            return int(found[2] or 1) * _WIDE.get(found[1], 1)
        case tuple((kind, shape)) if _is_shape(shape if isinstance(shape, tuple) else (shape,)):
            item = _item_size(kind)
            return item and item * prod(shape if isinstance(shape, tuple) else (shape,))
        case list():
            sizes = [_item_size(_without_name(each)) for each in descr]
            known = [each for each in sizes if each is not None]
            if len(known) == len(sizes):
                return sum(known)
            return None
    raise Corrupt("is npy with an unknown type of element")


def _without_name(field: object) -> object:
    """Return the type of a field of a record, with its shape if it has one."""
    match field:
        case tuple((_, kind)):
            return kind
        case tuple((_, kind, shape)):
            return kind, shape
    return None


def _not_finite(source: Source, begin: int, end: int, descr: object) -> str:
    """Return a note if first or last values are NaN or infinite, for little-endian 4- and 8-byte floats."""
    if descr not in ("<f4", "<f8"):
        return ""
    kind, width = ("f", 4) if descr == "<f4" else ("d", 8)
    values = array(kind)
    count = min(PIECE, end - begin) // width * width
    for offset in {begin, end - count}:
        data = source.read_at(offset, count)
        values.frombytes(data[: len(data) // width * width])
    odd = sum(not isfinite(value) for value in values)
    if not odd:
        return ""
    share = f"{odd / len(values):.0%}" if 100 * odd >= len(values) else "less than 1%"
    return f"{share} of {len(values):,} values read are NaN or infinite"


_LENGTH = 8  # bytes that hold the length of the header
_MAX_HEADER = 100_000_000  # bytes, the limit of the library
_MAX_READ = 4 * 2**20
_OFFSETS = re.compile(rb'"data_offsets"\s*:\s*\[\s*(\d{1,19})\s*,\s*(\d{1,19})\s*\]')


def is_safetensors(source: Source) -> bool:
    """Whether a file begins as safetensors do, which have no signature."""
    head = source.read_at(0, _LENGTH + 2)
    return head[_LENGTH:] in (b'{"', b"{}") and int.from_bytes(head[:_LENGTH], "little") <= _MAX_HEADER


def check_safetensors(source: Source, max_bytes: int) -> FileCheck:
    """Return the content of a safetensors file; the tensors' data are not read."""
    length = number_at(source.read_at(0, _LENGTH), 0, _LENGTH)
    if length > _MAX_HEADER:
        raise Corrupt("does not begin as a safetensors file does")
    expect_size(source.size, _LENGTH + length)
    if length > min(_MAX_READ, max_bytes):
        raise NotChecked(f"has a header of {length:,} bytes, more than jobmon reads")
    header = source.read_at(_LENGTH, length)
    try:
        decoded(header.decode())
    except (Truncated, UnicodeDecodeError, RecursionError):
        raise Corrupt("has a damaged safetensors header") from None
    offsets = [(int(found[1]), int(found[2])) for found in _OFFSETS.finditer(header)]
    if any(begin > end for begin, end in offsets):
        raise Corrupt("has a damaged safetensors header")
    expect_size(source.size, needed := _LENGTH + length + max((end for _, end in offsets), default=0))
    if source.size > needed:
        raise Corrupt(f"has {source.size:,} bytes, {source.size - needed:,} more than its header describes")
    return valid("safetensors", is_sampled=True)
