"""Check safetensors files: the size that the header implies against that of the file.

Format: huggingface/safetensors, README ("Format").
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.observe.artifacts.formats.json_file import decoded
from jobmon_core.observe.artifacts.formats.source import (
    Content,
    Corrupt,
    NotChecked,
    Truncated,
    expect_size,
    number_at,
)

if TYPE_CHECKING:
    from jobmon_core.observe.artifacts.formats.source import Source

_LENGTH = 8  # bytes that hold the length of the header
_MAX_HEADER = 100_000_000  # bytes, the limit of the library
_MAX_READ = 4 * 2**20
_OFFSETS = re.compile(rb'"data_offsets"\s*:\s*\[\s*(\d{1,19})\s*,\s*(\d{1,19})\s*\]')


def is_safetensors(source: Source) -> bool:
    """Whether a file begins as safetensors do, which have no signature."""
    head = source.read_at(0, _LENGTH + 2)
    return head[_LENGTH:] in (b'{"', b"{}") and int.from_bytes(head[:_LENGTH], "little") <= _MAX_HEADER


def check_safetensors(source: Source, max_bytes: int) -> Content:
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
    return Content("safetensors", is_sampled=True)
