"""Check JSON files and files of JSON lines."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.observe.artifacts.formats.source import PIECE, Content, Corrupt, Damaged, Truncated, pieces
from jobmon_core.observe.artifacts.formats.text.json_scan import JsonScan
from jobmon_core.observe.artifacts.formats.text.lines import (
    Line,
    all_lines,
    lines_between,
    reject_nul_bytes,
    sampled_ranges,
)

if TYPE_CHECKING:
    from jobmon_core.observe.artifacts.formats.source import Source

_MAX_DECODED = 2**18  # longer lines are scanned: decoding takes up to fifty times their size in memory
_EDGE = 2**12  # bytes at the start or the end of a file
_STEP = 64  # a step of the scan costs as much as reading this many bytes


def check_json(source: Source, max_bytes: int) -> Content:
    """Return the content of a JSON file, or of JSON lines.

    A file larger than ``max_bytes`` is checked at its start and end.
    """
    scan, at = JsonScan(), 0
    for piece in pieces(source, 0, min(source.size, max_bytes)):
        reject_nul_bytes(piece, at)
        at += len(piece)
        try:
            scan.feed(piece, is_last=at == source.size)
        except Corrupt:
            if scan.is_complete and _looks_like_json_lines(source):
                return check_json_lines(source, max_bytes)
            raise
        if scan.steps > max_bytes // _STEP:
            break
    if scan.is_complete and at == source.size:
        return Content("json", scan.elements if _begins_with(source, b"[") else None)
    if at == source.size:
        raise Truncated(
            {"]": "ends inside its array", "}": "ends inside its object"}.get(scan.closing, "is cut off")
        )
    tail = source.read_at(source.size - _EDGE, _EDGE).rstrip(b" \t\r\n")
    reject_nul_bytes(tail)
    if not tail.endswith(scan.closing.encode()):
        raise Truncated(f"does not end with {scan.closing}")
    return Content("json", is_sampled=True)


def _begins_with(source: Source, mark: bytes) -> bool:
    return source.read_at(0, _EDGE).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(mark)


def _looks_like_json_lines(source: Source) -> bool:
    head = source.read_at(0, PIECE).lstrip(b"\xef\xbb\xbf \t\r\n")
    line, newline, rest = head.partition(b"\n")
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return bool(newline) and rest.lstrip()[:1] in (b"{", b"[")


def check_json_lines(source: Source, max_bytes: int) -> Content:
    """Return the content of JSON lines.

    Of a file larger than ``max_bytes``, its start, its end and samples are checked.
    """
    if source.size <= max_bytes:
        records = sum(_check_line(line) for line in all_lines(source))
        return Content("jsonl", records)
    for begin, end in sampled_ranges(source.size, max_bytes):
        for line in lines_between(source, begin, end):
            _check_line(line)
    return Content("jsonl", is_sampled=True)


def _check_line(line: Line) -> bool:
    """Check a line; return False if it is blank. One over 1 MiB counts as a record and is not checked."""
    reject_nul_bytes(line.text, line.offset)
    if line.is_too_long:
        return True
    if not line.text.strip():
        return False
    with suppress(ValueError, RecursionError):  # the scan finds the fault, or that it is only deeply nested
        if len(line.text) <= _MAX_DECODED:
            json.loads(line.text)
            return True
    scan = JsonScan()
    try:
        scan.feed(line.text, is_last=True)
    except Damaged:
        if line.is_unterminated:
            raise Truncated("ends inside its last line") from None
        raise Corrupt(f"is not valid JSON in {line.where}") from None
    if not scan.is_complete:
        if line.is_unterminated:
            raise Truncated("ends inside its last line")
        raise Corrupt(f"has an incomplete record in {line.where}")
    return True
