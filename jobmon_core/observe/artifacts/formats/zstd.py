"""Check Zstandard files (RFC 8878) by walking from block to block; nothing is unpacked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.observe.artifacts.formats.source import Content, Corrupt, Truncated, number_at

if TYPE_CHECKING:
    from jobmon_core.observe.artifacts.formats.source import Source

SIGNATURE = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = 0x184D2A50  # up to 0x184D2A5F: they begin frames of data that no reader needs
_MAX_BLOCKS = 50_000
_RAW, _REPEATED, _PACKED, _RESERVED = range(4)


def check_zstd(source: Source, max_bytes: int) -> Content:  # noqa: ARG001 - all checks have this form
    """Return the content of a Zstandard file, whose data are not unpacked."""
    at, left = 0, _MAX_BLOCKS
    while at < source.size:
        magic = number_at(source.read_at(at, 4), 0, 4)
        if magic & ~0xF == _SKIPPABLE:
            at += 8 + number_at(source.read_at(at + 4, 4), 0, 4)
            left -= 1
        elif magic.to_bytes(4, "little") == SIGNATURE:
            at, left = _frame_end(source, at + 4, left)
        else:
            raise Corrupt(f"is damaged zstd: no frame begins at byte {at:,}")
        if left <= 0:
            break
        if at > source.size:
            raise Truncated(f"has {source.size:,} of at least {at:,} bytes")
    return Content("zstd", is_sampled=True)


def _frame_end(source: Source, at: int, left: int) -> tuple[int, int]:
    """Return where a frame ends, and how many blocks may still be read."""
    flags = number_at(source.read_at(at, 1), 0, 1)
    is_single = bool(flags & 0x20)
    sizes = (1 if is_single else 0, 2, 4, 8)
    at += 1 + (not is_single) + (0, 1, 2, 4)[flags & 3] + sizes[flags >> 6]
    is_last = False
    while not is_last and left > 0 and at <= source.size:
        head = number_at(source.read_at(at, 3), 0, 3)
        is_last, kind, length = bool(head & 1), head >> 1 & 3, head >> 3
        if kind == _RESERVED:
            raise Corrupt(f"is damaged zstd near byte {at:,}")
        at += 3 + (1 if kind == _REPEATED else length)
        left -= 1
    return at + (4 if flags & 4 and is_last else 0), left
