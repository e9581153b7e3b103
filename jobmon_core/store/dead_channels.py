"""Marks of channels that accept no message any more, so that no monitor calls them again.

Discord restricts clients that keep calling a deleted webhook. A mark holds until the channel's settings
change, which changes its fingerprint, or until `jobmon test-discord` reaches the channel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.store.home import file_name
from jobmon_core.system.files import write_atomically

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class DeadChannels:
    """The marks, one file each, named by the fingerprint of the channel's settings."""

    folder: Path

    def mark_dead(self, fingerprint: str, why: str) -> None:
        """Mark a channel as dead.

        Raises:
            StorageFailed: the disk refused.
        """
        write_atomically(self._path(fingerprint), why.encode("utf-8", "replace"))

    def why(self, fingerprint: str) -> str:
        """Return why a channel is dead; empty if it is not known to be."""
        try:
            return self._path(fingerprint).read_text("utf-8", errors="replace")
        except OSError:
            return ""  # no mark, or an unreadable one: the next attempt finds out

    def clear(self, fingerprint: str) -> None:
        """Remove the mark of a channel."""
        self._path(fingerprint).unlink(missing_ok=True)

    def _path(self, fingerprint: str) -> Path:
        return self.folder / f"{file_name(fingerprint)}.dead"
