"""Copy a log or a record without its secrets, in bounded memory."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from jobmon_core.domain.humanize import size
from jobmon_core.domain.redaction import redacted
from jobmon_core.observe.logs.open_file import regular_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jobmon_core.observe.logs.open_file import RegularFile

_BLOCK_BYTES = 2**20
_MAX_CARRIED_BYTES = 4 * _BLOCK_BYTES  # of a line, or of a private key, which spans lines
_HEAD_BYTES, _TAIL_BYTES = 8 * 2**20, 24 * 2**20  # kept of a longer log: hiding secrets takes 1 s for 1 MB
_KEY_START, _KEY_END = b"-----BEGIN", b"-----END"
# the end of a private key whose beginning was left out
_REST_OF_KEY = re.compile(rb"\A(?:(?!-----BEGIN)[\s\S])*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY[^\n]*\n?")


def copy_text(source: str, target: Path) -> str:
    """Copy a text file; return what was left out.

    Raises:
        Unreadable: the source cannot be read; the target may be there in part.
        OSError: the target cannot be written, or exists already.
    """
    with open(create_private(target), "wb") as copy:
        omitted_bytes = 0
        for piece, left_out_bytes in _pieces(source):
            copy.write(piece)
            omitted_bytes = left_out_bytes
    return f"{size(omitted_bytes)} in the middle" if omitted_bytes else ""


def copy_json(content: bytes, target: Path, names_only: tuple[str, ...] = ()) -> None:
    """Write a JSON object with secrets hidden; of an object named in ``names_only``, only its keys are kept.

    Raises:
        OSError: the target cannot be written.
        ValueError, TypeError, RecursionError: it is no JSON, has other types, or is nested too deep.
    """
    data = json.loads(content)
    if not isinstance(data, dict):
        raise TypeError("not a JSON object")
    for key in names_only:
        if not isinstance(data.get(key, {}), dict):
            raise TypeError(f"{key} is not a JSON object")
        if key in data:
            data[key] = sorted(data[key])
    write_text(target, json.dumps(_redacted_json(data), indent=1))


def write_text(target: Path, text: str) -> None:
    """Write a private file; raise OSError, or ValueError for a character that UTF-8 does not have."""
    content = text.encode("utf-8", "surrogateescape")
    with open(create_private(target), "wb") as file:
        file.write(content)


def create_private(target: Path) -> int:
    """Create a file that only the user can read, which must not exist; return its descriptor."""
    return os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def _redacted_json(value: object) -> object:
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, list):
        return [_redacted_json(item) for item in value]
    if isinstance(value, dict):
        return {key: _redacted_json(item) for key, item in value.items()}
    return value


def _pieces(source: str) -> Iterator[tuple[bytes, int]]:
    """Yield what to write, and how many bytes of the source are left out.

    The caller writes outside of this function, so a full disk does not count as an unreadable source.
    """
    with regular_file(source) as file:
        head_end = tail_start = file.size
        if file.size > _HEAD_BYTES + _TAIL_BYTES:
            head_end, tail_start = _next_line(file, _HEAD_BYTES), _next_line(file, file.size - _TAIL_BYTES)
        omitted_bytes = tail_start - head_end
        for block in _blocks(file, 0, head_end):
            yield _redacted_bytes(block), omitted_bytes
        if omitted_bytes:
            yield f"\n[... {size(omitted_bytes)} left out ...]\n".encode(), omitted_bytes
        for number, block in enumerate(_blocks(file, tail_start, file.size)):
            whole = block if number else _REST_OF_KEY.sub(b"", block)
            yield _redacted_bytes(whole), omitted_bytes


def _next_line(file: RegularFile, at: int) -> int:
    """Return where a line begins after a position; the position itself inside a very long line."""
    return at + file.read_at(at, _BLOCK_BYTES).find(b"\n") + 1


def _redacted_bytes(block: bytes) -> bytes:
    return redacted(block.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _blocks(file: RegularFile, start: int, end: int) -> Iterator[bytes]:
    """Yield whole lines, and private keys, which span lines, as a whole; split only very long ones."""
    carried = b""
    while start < end and (chunk := file.read_at(start, min(_BLOCK_BYTES, end - start))):
        start += len(chunk)
        carried += chunk
        cut = carried.rfind(b"\n") + 1
        if (key := carried.rfind(_KEY_START)) >= 0 and carried.find(_KEY_END, key) < 0:
            cut = min(cut, key)
        if not cut and len(carried) > _MAX_CARRIED_BYTES:
            cut = len(carried)
        yield carried[:cut]
        carried = carried[cut:]
    yield carried
