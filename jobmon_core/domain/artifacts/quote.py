"""Lay out a file with results for a message: a table as a table, an object as its keys and values."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence

from jobmon_core.domain.artifacts.model import suffix_of

MAX_LINES, _MAX_LINE = 14, 110
_MAX_ROWS, _MAX_COLUMNS, _MAX_CELL = 10, 6, 32
_MAX_KEYS, _MAX_VALUE = 24, 80
_DELIMITERS = (",", "\t", ";", "|")
_GAP = "…"


def quote_text(name: str, lines: Sequence[str], *, is_whole: bool) -> str:
    """Return what a file says, in at most 14 short lines.

    ``lines`` are without secrets; of a large file, the first and the last ones.
    """
    suffix = suffix_of(name)
    shown: list[str] | None = None
    if suffix in (".csv", ".tsv"):
        shown = _table(lines, is_whole=is_whole)
    elif suffix == ".json" and is_whole:
        shown = _object("\n".join(lines))
    return "\n".join(_cut(line, _MAX_LINE) for line in shown or _last(lines))


def _last(lines: Sequence[str]) -> list[str]:
    return [line.rstrip() for line in lines if line.strip()][-MAX_LINES:]


def _table(lines: Sequence[str], *, is_whole: bool) -> list[str] | None:
    """Return a table in columns, if it is one; of a long one, the header and the last rows."""
    lines = [line for line in lines if line.strip()]
    if not lines:
        return None
    delimiter = max(_DELIMITERS, key=lines[0].count)
    try:
        header, *rows = csv.reader(lines, delimiter=delimiter)
    except (csv.Error, ValueError):
        return None
    if not 1 < len(header) <= _MAX_COLUMNS:
        return [lines[0], *([_GAP] if len(lines) > MAX_LINES else []), *lines[1:][-MAX_LINES + 2 :]]
    if len(rows) > _MAX_ROWS or not is_whole:
        rows = [[_GAP], *rows[-_MAX_ROWS:]]
    cells = [[_cut(cell.strip(), _MAX_CELL) for cell in row[: len(header)]] for row in (header, *rows)]
    columns = [[row[column] for row in cells if column < len(row)] for column in range(len(header))]
    return ["  ".join(map(_aligned, row, columns)).rstrip() for row in cells]


def _aligned(cell: str, column: Sequence[str]) -> str:
    width = max(map(len, column))
    if all(map(_is_number, column[1:])):
        return cell.rjust(width)
    return cell.ljust(width)


def _is_number(cell: str) -> bool:
    if cell in ("", _GAP):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _object(text: str) -> list[str] | None:
    try:
        value = json.loads(text, parse_float=_verbatim, parse_int=_verbatim, parse_constant=_verbatim)
        if not isinstance(value, dict) or not 0 < len(value) <= _MAX_KEYS:
            return None
        lines = [f"{key}: {_cut(_value(item), _MAX_VALUE)}" for key, item in value.items()]
    except (ValueError, RecursionError):
        return None
    if len(lines) <= MAX_LINES:
        return lines
    return [*lines[: MAX_LINES - 1], f"{_GAP} and {len(lines) - MAX_LINES + 1} more"]


def _verbatim(digits: str) -> str:
    return digits


def _value(item: object) -> str:
    if isinstance(item, str):
        return " ".join(item.split())
    if isinstance(item, dict):
        return "{" + ", ".join(f"{key}: {_value(each)}" for key, each in item.items()) + "}"
    if isinstance(item, list):
        return "[" + ", ".join(map(_value, item)) + "]"
    return json.dumps(item)  # null, true or false


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return f"{text[: limit - 1]}{_GAP}"
