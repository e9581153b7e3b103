"""The body of a request to Discord: JSON, or the documented form with JSON and files.

Source: Discord's API reference, "Uploading Files": ``multipart/form-data``, the JSON in ``payload_json``,
each file in ``files[n]`` with a file name; at most 10 files of 10 MiB each.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from email.policy import HTTP

from tests.support.discord_rules import Fault

MAX_FILES, MAX_FILE_BYTES = 10, 10 * 2**20
_FILE_FIELD = re.compile(r"files\[([0-9])\]")


@dataclass(frozen=True, slots=True)
class SentFile:
    """One file as it came in."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Body:
    """The JSON and the files of a request, and the rules that its form breaks."""

    json_text: bytes
    files: tuple[SentFile, ...] = ()
    faults: tuple[Fault, ...] = ()


def read_body(headers: dict[str, str], body: bytes) -> Body:
    """Return the parts of a body; ``headers`` have lower-case names."""
    content_type = headers.get("content-type", "")
    if not content_type.startswith("multipart/form-data"):
        return Body(body)
    form = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
    if not form.is_multipart():
        return Body(b"", faults=(Fault("", "50109", "The form has no parts."),))
    json_text, files, faults = b"", list[SentFile](), list[Fault]()
    for part in form.get_payload():
        assert isinstance(part, Message)
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        if name == "payload_json":
            json_text = content
        elif _FILE_FIELD.fullmatch(str(name)) and part.get_filename():
            files.append(SentFile(str(part.get_filename()), content))
        else:
            faults.append(Fault(str(name), "UNKNOWN_KEY", "Discord knows no such part."))
    if not json_text:
        faults.append(Fault("payload_json", "BASE_TYPE_REQUIRED", "This field is required"))
    if len(files) > MAX_FILES or any(len(file.content) > MAX_FILE_BYTES for file in files):
        faults.append(Fault("files", "40005", "Request entity too large"))
    return Body(json_text, tuple(files), tuple(faults))
