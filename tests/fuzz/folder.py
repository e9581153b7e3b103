"""One folder for the files that targets write, private as jobmon's own; it goes with the process."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="jobmon-fuzz-")


def written(name: str, data: bytes) -> Path:
    """Return a file of that name, readable for its owner only, that holds these bytes and no others."""
    path = Path(_folder().name, name)
    with open(path, "wb", opener=lambda file, flags: os.open(file, flags, 0o600)) as file:
        file.write(data)
    return path
