"""Parse a dependency, e.g. ``afterok:12(unfulfilled),afterany:7_3(failed)``. Never raises."""

from __future__ import annotations

import re

from jobmon_core.domain.pending.model import Dependency

_PART = re.compile(r"([a-z]+)(?::(\d{1,10}(?:_(?:\d{1,10}|\*))?))?(?:\+\d+)?(?:\((\w+)\))?", re.ASCII)
_FAILED = "failed"


def read_dependencies(text: str) -> tuple[Dependency, ...]:
    """Parse all conditions; commas separate them if all must hold, question marks if any suffices."""
    matches = (_PART.fullmatch(part) for part in re.split(r"[,?]", text))
    return tuple(
        Dependency(match[1], (match[2] or "").removesuffix("_*"), is_failed=match[3] == _FAILED)
        for match in matches
        if match
    )
