"""The total that the user names, where the log has none."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.progress.model import Progress


def with_total(progress: Progress | None, total: float | None) -> Progress | None:
    """Return the progress with this total, if the log shows none."""
    if progress is None or progress.total is not None or total is None:
        return progress
    return replace(progress, total=float(total))
