"""Load what is known about the error numbers (XIDs) of NVIDIA's driver."""

from __future__ import annotations

import json
from functools import cache

from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.system.files import shipped_file

FILE_NAME = "xid_errors.json"


@cache
def xid_errors() -> dict[int, Finding]:
    """Return the known errors by their numbers; a critical one means that the GPU or its node is broken."""
    text = shipped_file(FILE_NAME).read_text(encoding="utf-8")
    return {
        int(number): Finding(
            Severity.CRITICAL if error.get("is_critical") else Severity.WARNING,
            title=error["title"],
            advice=error["advice"],
        )
        for number, error in json.loads(text)["errors"].items()
    }
