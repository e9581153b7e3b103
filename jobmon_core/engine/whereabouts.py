"""Where jobmon's home lies, and what keeps the monitors of several hosts apart there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.engine.census import STALE_AFTER_S
from jobmon_core.store.filesystem import Filesystem, Reach

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon_core.engine.wiring import Workshop


def whereabouts(shop: Workshop) -> str:
    """Say on what file system the home lies, how far its locks reach, and what holds beyond that."""
    return describe(shop.home.root, Filesystem.of(shop.home.root))


def describe(home: Path, filesystem: Filesystem) -> str:
    """Say that of a home on a given file system."""
    kind = filesystem.kind or "a file system that is not known"
    at = f"{home} lies on {kind} (mounted at {filesystem.mounted_at})"
    lies = f"{at}; locks hold {filesystem.reach}"
    if filesystem.reach in (Reach.HOSTS, Reach.DISK):
        return lies
    return (
        f"{lies}. Monitors of several hosts are kept apart by who is named the owner of a job, "
        f"and one that gives no sign for {STALE_AFTER_S / 60:.0f} minutes is replaced"
    )
