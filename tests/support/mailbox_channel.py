"""A channel type of the tests: it writes each message into a folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from jobmon_core.domain.channels import ACCEPTED, DeliveryOutcome, Receipt
from jobmon_core.domain.config_section import Section
from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.delivery.routing import ChannelType


@dataclass(frozen=True, slots=True)
class Mailbox:
    """Writes each message as a numbered file; a missing folder is an unreachable channel."""

    folder: str

    @property
    def name(self) -> str:
        """The folder."""
        return f"mailbox ({self.folder})"

    @property
    def fingerprint(self) -> str:
        """The folder: it is no secret."""
        return f"mailbox {self.folder}"

    def deliver(self, entry: OutboxEntry) -> Receipt:
        """Write what identifies the message."""
        folder = Path(self.folder)
        if not folder.is_dir():
            why = "the folder is missing"
            return Receipt(DeliveryOutcome.TRY_AGAIN, why, advice="create the folder")
        text = {"id": entry.message.id, "title": entry.message.title, "repeat": entry.maybe_delivered}
        (folder / f"{len(list(folder.iterdir())):03}.json").write_text(json.dumps(text), "utf-8")
        return ACCEPTED


def _parse(section: Section) -> Mailbox | None:
    folder = section.text("folder")
    if not folder:
        section.fault("folder", "missing")
        return None
    return Mailbox(folder)


MAILBOX = ChannelType(_parse)


def messages_in(folder: Path) -> list[str]:
    """Return the ids of the messages in a mailbox, in order of arrival."""
    return [json.loads(path.read_text("utf-8"))["id"] for path in sorted(folder.iterdir())]
