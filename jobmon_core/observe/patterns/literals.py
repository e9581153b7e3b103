"""The literals that the shipped expressions require, worked out in advance: doing so takes 0.1 s of CPU time.

`dev/share_files.py` writes the file; for an expression that it lacks, they are worked out as it is loaded.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from jobmon_core.observe.patterns.prefilter import needed_literals
from jobmon_core.observe.patterns.shipped import shipped_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.observe.patterns.prefilter import Literals

FILE_NAME = "error_literals.json"


def literals_of(regex: str) -> Literals:
    """Return what `needed_literals` returns."""
    known = _shipped_literals().get(regex)
    return needed_literals(regex) if known is None else frozenset(known)


@lru_cache(maxsize=1)
def _shipped_literals() -> Mapping[str, list[str]]:
    """Return the literals by expression; none if the file cannot be read."""
    try:
        literals: dict[str, list[str]] = json.loads(shipped_file(FILE_NAME).read_bytes())
    except (OSError, ValueError):  # they are worked out instead
        return {}
    return literals
