"""What changed since a run succeeded, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.provenance.compare import Aspect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.domain.provenance.compare import Difference

_MAX_NAMED = 5
_MAX_CHARACTERS = 300


def summary_line(good: str, differences: Sequence[Difference]) -> str:
    """Return e.g. ``since 8101 succeeded: train.sbatch (3 lines), commit a1b2c3d -> 9f8e7d6``."""
    briefs = [each.brief for each in differences]
    if not briefs:
        return f"nothing that jobmon records since {good} succeeded"
    if all(each.aspect is Aspect.NODE for each in differences):
        return f"only the {briefs[0]} since {good} succeeded"
    more = f", and {len(briefs) - _MAX_NAMED} more" if len(briefs) > _MAX_NAMED else ""
    line = f"since {good} succeeded: {', '.join(briefs[:_MAX_NAMED])}{more}"
    return line if len(line) <= _MAX_CHARACTERS else f"{line[: _MAX_CHARACTERS - 3]}..."
