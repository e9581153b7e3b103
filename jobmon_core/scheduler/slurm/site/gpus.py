"""Parse the GPUs of a node or a request: ``gpu:a100:4(S:0-1)``, ``gres/gpu:2``, ``gpu:(null):0(IDX:N/A)``."""

from __future__ import annotations

import re

_GPUS = re.compile(r"(?<![A-Za-z_])gpu(?::(\(null\)|[A-Za-z_][\w.-]*))?:(\d{1,6})(?![\w.])", re.ASCII)


def gpus_of(text: str) -> dict[str, int]:
    """Return the number of GPUs by type; those without a type are under the empty text."""
    found: dict[str, int] = {}
    for kind, number in _GPUS.findall(text):
        name = "" if kind == "(null)" else kind
        found[name] = found.get(name, 0) + int(number)
    return found
