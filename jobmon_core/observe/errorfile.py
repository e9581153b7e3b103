"""The record that torchrun keeps of a worker's exception: ``error.json``, with its traceback."""

from __future__ import annotations

import json

from jobmon_core.domain.loglines import Excerpt
from jobmon_core.domain.text import clean_lines
from jobmon_core.observe.regularfile import Unreadable, regular_file

_MOST_BYTES = 2**20


def read_error_file(path: str) -> Excerpt | None:
    """Return the traceback and the message of an ``error.json`` as lines; None where it has none.

    The lines are unnumbered, as they are none of the file's own. Never raises.
    """
    try:
        with regular_file(path) as file:
            data = file.read_at(0, _MOST_BYTES)
    except Unreadable:
        return None
    lines = clean_lines(_told(data).encode("utf-8", errors="replace"))
    return Excerpt(path, lines, first_number=None) if any(lines) else None


def _told(data: bytes) -> str:
    """Return what the record says. The message stands at the end of its traceback; where not, it follows."""
    record = _record(data)
    message = _at(record, "message") if isinstance(record, dict) else record
    words = _text(_at(message, "message") if isinstance(message, dict) else message)
    traceback = _text(_at(message, "extraInfo", "py_callstack"))
    return traceback if words in traceback else f"{traceback}\n{words}".lstrip("\n")


def _record(data: bytes) -> object:
    try:
        record: object = json.loads(data.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):  # no JSON, or nested as nobody would
        return None
    return record


def _at(value: object, *keys: str) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
