"""Channels that answered that nothing will ever arrive there: whoever knows it spares them further calls.

Discord restricts who goes on calling a webhook that is gone. A mark stays until the webhook is
configured anew, which gives it another name, or until `jobmon test-discord` finds it alive.
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
    """The marks, as files in a folder; a channel is named by what gives nothing of its webhook away."""

    folder: Path

    def mark_dead(self, channel: str, why: str) -> None:
        """Mark a channel as dead.

        Raises:
            StorageFailed: the disk refused.
        """
        write_atomically(self._mark(channel), why.encode("utf-8", "replace"))

    def why(self, channel: str) -> str:
        """Return what a channel was called dead for; empty where it was not."""
        try:
            return self._mark(channel).read_text("utf-8", errors="replace")
        except OSError:
            return ""  # no mark, or none that can be read: the channel itself will say

    def clear(self, channel: str) -> None:
        """Remove the mark of a channel."""
        self._mark(channel).unlink(missing_ok=True)

    def _mark(self, channel: str) -> Path:
        return self.folder / f"{file_name(channel)}.dead"
