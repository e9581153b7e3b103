"""Which job notified the user of an outage of the scheduler: one file per cluster, for all hosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.messages.scheduler_outage import OutageNotice
from jobmon_core.store.home import file_name
from jobmon_core.store.json_file import JsonFile

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class OutageNoticeFile(JsonFile[OutageNotice]):
    """The notice of one cluster; if it cannot be read, the user is notified again rather than not at all."""

    kind: type[OutageNotice] = OutageNotice

    @classmethod
    def named(cls, folder: Path, *names: str) -> OutageNoticeFile:
        """Return the file for a scheduler, e.g. ("slurm", cluster)."""
        return cls(folder / f"{file_name('outage', *names)}.notice")
