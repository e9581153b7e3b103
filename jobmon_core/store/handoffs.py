"""Jobs that a submission offers to the monitors that run already: empty files, whose names say all.

Any monitor of the same surroundings may take one up. The lock of the job decides who follows it, never
the offer: one that is left behind costs a look, no more.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.system.files import open_private, private_folder

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Handoffs:
    """The offers to the monitors of the same surroundings (host, cluster, webhooks: see there)."""

    folder: Path
    env_fingerprint: str

    def create(self, job_id: str) -> None:
        """Offer a job.

        Raises:
            StorageFailed: the disk refused.
        """
        path = private_folder(self.folder) / self._name(job_id)
        try:
            os.close(open_private(path, os.O_WRONLY))
        except OSError as error:
            raise StorageFailed(f"{path} can't be written: {error.strerror}") from error

    def is_pending(self, job_id: str) -> bool:
        """Whether a job is offered."""
        return (self.folder / self._name(job_id)).exists()

    def remove(self, job_id: str) -> bool:
        """Take an offer back, or strike one that was taken up; return whether it stood until now."""
        with suppress(OSError):  # one that can't be removed costs a look at each pass, no more
            (self.folder / self._name(job_id)).unlink()
            return True
        return False

    def pending(self) -> list[str]:
        """Return the jobs that are offered."""
        ending = self._name("")
        with suppress(OSError):  # nothing was ever offered
            return sorted(
                name.removesuffix(ending)
                for name in os.listdir(self.folder)  # noqa: PTH208 - plain names, at every pass
                if name.endswith(ending)
            )
        return []

    def _name(self, job_id: str) -> str:
        return f"{job_id}@{self.env_fingerprint}.offer"
