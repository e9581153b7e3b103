"""The file that a message attaches, and the form in which Discord takes both.

Source: Discord's API reference, "Uploading Files": ``multipart/form-data`` with the JSON as ``payload_json``
and each file as ``files[n]``; up to 10 MiB a file. jobmon attaches far less.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core.notify.http import encode_form

if TYPE_CHECKING:
    from jobmon_core.domain.delivery.outbox import OutboxEntry

_MAX_BYTES = 2**20
_MAX_ATTEMPTS = 3  # a network or a proxy that lets no file through must not cost the message


class FormFile(NamedTuple):
    """One file to attach."""

    name: str
    content: bytes


def attached_file(entry: OutboxEntry) -> FormFile | None:
    """Return the file that a message attaches at this attempt; None if it attaches none.

    It attaches none if the file was removed or is too large, in the plain form, after an attempt that got
    no response, and after several attempts.
    """
    path = entry.message.attachment
    if not path or entry.plain or entry.maybe_delivered or entry.attempts > _MAX_ATTEMPTS:
        return None
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError):
        return None
    return FormFile(Path(path).name, content) if 0 < len(content) <= _MAX_BYTES else None


def form_body(payload: dict[str, Any], file: FormFile) -> tuple[bytes, str]:
    """Return the body of a request with a message and its file, and the content type of the body."""
    return encode_form(
        {
            "payload_json": json.dumps(payload),
            "files[0]": (file.name, file.content, "text/plain; charset=utf-8"),
        }
    )
