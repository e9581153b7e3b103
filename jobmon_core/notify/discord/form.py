"""The form in which Discord takes a message with a file.

Source: Discord's API reference, "Uploading Files": ``multipart/form-data`` with the JSON as ``payload_json``
and each file as ``files[n]``; up to 10 MiB a file. jobmon attaches far less.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from jobmon_core.system.http import encode_form

if TYPE_CHECKING:
    from jobmon_core.notify.attached import AttachedFile


def form_body(payload: dict[str, Any], file: AttachedFile) -> tuple[bytes, str]:
    """Return the body of a request with a message and its file, and the content type of the body."""
    return encode_form(
        {
            "payload_json": json.dumps(payload),
            "files[0]": (file.name, file.content, "text/plain; charset=utf-8"),
        }
    )
