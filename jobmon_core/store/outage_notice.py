"""Which job told the user that a cluster's scheduler does not answer: one file a cluster, for all hosts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.messages.scheduler_outage import OutageNotice
from jobmon_core.store.home import file_name
from jobmon_core.system.files import read_own, write_atomically
from jobmon_core.system.json_codec import DecodeError, from_json, to_json

if TYPE_CHECKING:
    from pathlib import Path

_AT_MOST = 64 * 1024


@dataclass(frozen=True, slots=True)
class OutageNoticeFile:
    """Where the notice of one cluster is kept."""

    path: Path

    @classmethod
    def named(cls, folder: Path, *names: str) -> OutageNoticeFile:
        """Return the file for a scheduler, e.g. ("slurm", cluster)."""
        return cls(folder / f"{file_name('outage', *names)}.notice")

    @property
    def lock_path(self) -> Path:
        """The lock that whoever changes the notice holds meanwhile."""
        return self.path.with_suffix(".lock")

    def read(self) -> OutageNotice:
        """Return the notice; an empty one where none can be read: better told twice than never."""
        try:
            return from_json(OutageNotice, json.loads(read_own(self.path, _AT_MOST)))
        except (OSError, ValueError, RecursionError, DecodeError):
            return OutageNotice()

    def write(self, notice: OutageNotice) -> None:
        """Replace the notice.

        Raises:
            StorageFailed: the disk refused.
        """
        write_atomically(self.path, json.dumps(to_json(notice)).encode())
