"""Load what is known about the error numbers (XIDs) of NVIDIA's driver."""

from __future__ import annotations

import json
from functools import cache

from jobmon_core.domain.node.triage.situation import XidError
from jobmon_core.system.files import shipped_file
from jobmon_core.system.json_codec import from_json

FILE_NAME = "xid_errors.json"


@cache
def xid_errors() -> dict[int, XidError]:
    """Return the known errors by their numbers."""
    text = shipped_file(FILE_NAME).read_text(encoding="utf-8")
    return {int(number): from_json(XidError, error) for number, error in json.loads(text)["errors"].items()}
