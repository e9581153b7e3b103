"""Load what is known about the error numbers (XIDs) of NVIDIA's driver."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache

from jobmon_core.domain.node.triage.situation import XidError  # noqa: TC001 - the codec reads the hint at run time
from jobmon_core.system.files import shipped_file
from jobmon_core.system.json_codec import from_json

FILE_NAME = "xid_errors.json"


@dataclass(frozen=True, slots=True)
class XidFile:
    """The content of jobmon's file of XIDs."""

    schema_version: int
    source: str  # where the meanings are from
    errors: dict[str, XidError] = field(default_factory=dict)  # by number


@cache
def xid_errors() -> dict[int, XidError]:
    """Return the known errors by their numbers."""
    text = shipped_file(FILE_NAME).read_text(encoding="utf-8")
    return {int(number): error for number, error in from_json(XidFile, json.loads(text)).errors.items()}
