"""The total that the user or a checkpoint names, where the log has none."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.progress.model import Progress


def with_total(progress: Progress | None, total: float | None) -> Progress | None:
    """Return the progress with this total, if the log shows none."""
    if progress is None or progress.total is not None or total is None:
        return progress
    return replace(progress, total=float(total))


def with_total_of_checkpoint(progress: Progress | None, saved: Progress | None) -> Progress | None:
    """Return the progress with the total in the same unit that a checkpoint names, if the log shows none.

    A total that is below the progress is ignored.
    """
    if progress is None or saved is None:
        return progress
    total = {"step": saved.total, "epoch": saved.epochs}.get(progress.unit)
    return progress if total is None or total < progress.current else with_total(progress, total)
