"""The log that monitors write about one job: one line per event, in at most two files of a megabyte."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.visible_text import one_line
from jobmon_core.domain.webhook import mask_webhooks
from jobmon_core.system.files import open_private

if TYPE_CHECKING:
    from pathlib import Path

_MAX_CHARS = 10_000  # of one line


@dataclass(frozen=True, slots=True)
class MonitorLog:
    """The log file of a job, and the previous one (``.log.1``), which is kept when a file is full."""

    path: Path
    max_bytes: int = 1_000_000

    def write(self, event: str) -> None:
        """Append an event as one line with the local time, if the disk permits; never raise OSError.

        Unprintable characters become spaces, webhook URLs are masked, a long event is cut.
        """
        stamp = time.strftime("%Y-%m-%d %H:%M:%S%z")
        line = mask_webhooks(" ".join(one_line(event).split()))[:_MAX_CHARS]
        try:
            self._rotate()
            descriptor = open_private(self.path, os.O_WRONLY | os.O_APPEND)
            with open(descriptor, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{stamp} {line}\n")
        except OSError:
            return  # a full disk must not stop the monitor; saving the state reports it

    def read(self) -> str:
        """Return the lines of both files, oldest first; empty if there are none."""
        files = (self.path.with_suffix(".log.1"), self.path)
        return "".join(file.read_text("utf-8", errors="replace") for file in files if file.is_file())

    def _rotate(self) -> None:
        if self.path.exists() and self.path.stat().st_size >= self.max_bytes:
            self.path.replace(self.path.with_suffix(".log.1"))
