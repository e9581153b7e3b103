"""A message as a JSON object for programs, and files of JSON objects, one a line.

The webhook channel and the log file use the form; its keys stay as they are, and later versions may add some.
Several processes append to a file. A lock beside it keeps the lines apart, between hosts only if the file
system's locks hold there; when `append` returns, its line is on the disk. A line that a crash or a full disk
cut short is closed before the next one.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from jobmon_core.notify.clean_text import clean, one_line
from jobmon_core.notify.plain_text import fit
from jobmon_core.system.files import open_private, storage_errors, write_atomically
from jobmon_core.system.lock import lock

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon_core.domain.delivery.outbox import OutboxEntry

VERSION = 1
_MAX_TEXT = 4000  # characters of each text
_MAX_LINES = 200
_MAX_FIELDS = 100
_TAIL_BYTES = 256 * 1024


def json_form(entry: OutboxEntry) -> dict[str, Any]:
    """Return the message; texts are cleaned, shortened and without secrets, times are Unix seconds."""
    message = entry.message
    return {
        "version": VERSION,
        "id": message.id,
        "created_at": message.created_s,
        "level": message.level.value,
        "kind": message.tone.value,
        "route": message.route.value,
        "title": fit(one_line(message.title), _MAX_TEXT),
        "headline": fit(one_line(message.headline), _MAX_TEXT),
        "summary": _text(message.summary),
        "cause": _text(message.cause),
        "log_lines": [
            fit(one_line(line), _MAX_TEXT)
            for line in clean("\n".join(message.evidence)).split("\n")[-_MAX_LINES:]
            if line
        ],
        "advice": _text(message.advice),
        "also_seen": _text(message.also_seen),
        "log_path": fit(one_line(message.log_path), _MAX_TEXT),
        "fields": [
            {
                "name": fit(one_line(field.name), _MAX_TEXT),
                "value": fit(one_line(field.value), _MAX_TEXT),
                "at": field.at_s,
            }
            for field in message.fields[:_MAX_FIELDS]
        ],
        "results": [{"name": one_line(quote.name), "text": _text(quote.text)} for quote in message.results],
        "possible_repeat": entry.maybe_delivered,
    }


def _text(text: str) -> str:
    return fit(clean(text).strip(), _MAX_TEXT)


def append(path: Path, record: dict[str, Any], *, is_repeat: bool = False) -> None:
    """Append a record; a repeat only if none of the last lines has its ``id`` and ``created_at``."""
    line = json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    with (
        lock(path.with_name(f".{path.name}.lock")),
        storage_errors(path, "written"),
        open(open_private(path, os.O_RDWR | os.O_APPEND), "r+b", buffering=0) as file,
    ):
        end = _tail(file.fileno())
        if is_repeat and _has(end, record):
            return
        _write(file.fileno(), (b"" if not end or end.endswith(b"\n") else b"\n") + line)
        os.fsync(file.fileno())


def keep_last(path: Path, lines: int, max_bytes: int) -> None:
    """Shorten a file to its last lines if it has more than ``max_bytes``."""
    with lock(path.with_name(f".{path.name}.lock")):
        with storage_errors(path, "read"):
            if path.stat().st_size <= max_bytes:
                return
            kept = path.read_bytes().splitlines(keepends=True)[-lines:]
        write_atomically(path, b"".join(kept), durable=False)


def records(content: bytes) -> list[dict[str, Any]]:
    """Return the objects in the content of such a file, oldest first."""
    found = []
    for line in content.splitlines():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue  # the start of the content, or a line that a crash cut short
        if isinstance(record, dict):
            found.append(record)
    return found


def _tail(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, _TAIL_BYTES, max(0, size - _TAIL_BYTES))


def _has(end: bytes, record: dict[str, Any]) -> bool:
    key = (record.get("id"), record.get("created_at"))
    return any((each.get("id"), each.get("created_at")) == key for each in records(end))


def _write(descriptor: int, line: bytes) -> None:
    while line:
        line = line[os.write(descriptor, line) :]
