"""A monitor's own log: one line an event, bounded to two files of a megabyte."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.webhook import mask_webhooks
from jobmon_core.system.files import open_private

if TYPE_CHECKING:
    from pathlib import Path

_LONGEST = 10_000  # characters of one event that are kept


@dataclass(frozen=True, slots=True)
class MonitorLog:
    """One append-only log."""

    path: Path
    max_bytes: int = 1_000_000

    def write(self, event: str) -> None:
        """Append one event, stamped with the local time; a webhook in it is masked."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S%z")
        # a job's name may hold what a terminal takes for a command
        visible = "".join(letter if letter.isprintable() else " " for letter in event)
        line = mask_webhooks(" ".join(visible.split()))[:_LONGEST]
        try:
            self._rotate()
            descriptor = open_private(self.path, os.O_WRONLY | os.O_APPEND)
            with open(descriptor, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{stamp} {line}\n")
        except OSError:
            return  # a full disk must not end the monitoring; state and outbox report it themselves

    def read(self) -> str:
        """Return everything that is kept, oldest first; empty where nothing is."""
        files = (self.path.with_suffix(".log.1"), self.path)
        return "".join(file.read_text("utf-8", errors="replace") for file in files if file.is_file())

    def _rotate(self) -> None:
        if self.path.exists() and self.path.stat().st_size >= self.max_bytes:
            self.path.replace(self.path.with_suffix(".log.1"))
