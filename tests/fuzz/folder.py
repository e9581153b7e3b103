"""A private temporary folder for the files that targets write; it is removed when the process ends."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="jobmon-fuzz-")


def written(name: str, data: bytes) -> Path:
    """Write these bytes to a file that only its owner can read; return its path."""
    path = Path(_folder().name, name)
    with open(path, "wb", opener=lambda file, flags: os.open(file, flags, 0o600)) as file:
        file.write(data)
    return path
