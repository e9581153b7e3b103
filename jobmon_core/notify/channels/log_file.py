"""Appends each message as one JSON object to a file; the keys are those of `json_form`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.channels import ACCEPTED, DeliveryOutcome, Receipt
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.notify.json_form import append, json_form
from jobmon_core.system.files import make_folder

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section
    from jobmon_core.domain.delivery.outbox import OutboxEntry


class LogFile(NamedTuple):
    """One file. A repeat of a message that is in the file already is not written again."""

    path: str

    @property
    def name(self) -> str:
        """The path."""
        return f"log file ({self.path})"

    @property
    def fingerprint(self) -> str:
        """The path: it is no secret."""
        return f"log {self.path}"

    def deliver(self, entry: OutboxEntry) -> Receipt:
        """Do as `Channel.deliver`; after a failure, e.g. a full disk, it is tried again."""
        try:
            path = Path(self.path).expanduser()
            make_folder(path.parent)
            append(path, json_form(entry), is_repeat=entry.maybe_delivered)
        except (StorageFailed, RuntimeError, ValueError) as error:  # ~ of an unknown user, a NUL in the path
            advice = "Check `path` in the configuration. Messages about jobs are retried automatically."
            return Receipt(DeliveryOutcome.TRY_AGAIN, str(error), for_all=True, advice=advice)
        return ACCEPTED


def parse(section: Section) -> LogFile:
    """Read one channel; a relative path counts from the folder of the configuration."""
    return LogFile(section.path("path", "logs/messages.jsonl"))
