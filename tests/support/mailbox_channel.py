"""A channel type of the tests: it writes each message into a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jobmon_core.domain.config import ChannelParser
from jobmon_core.domain.config_section import Section
from jobmon_core.domain.delivery.outbox import DeliveryOutcome, OutboxEntry, Receipt
from jobmon_core.notify.base import Answer, ChannelType, HttpResponse, NotSent, Post, ResponseAdvice


@dataclass(frozen=True, slots=True)
class MailboxSettings:
    """The folder that gets the messages."""

    folder: str

    @property
    def fingerprint(self) -> str:
        """The folder: it is no secret."""
        return f"mailbox {self.folder}"


@dataclass(frozen=True, slots=True)
class Mailbox:
    """Writes each message as a numbered file; a missing folder is an unreachable channel."""

    settings: MailboxSettings

    @property
    def name(self) -> str:
        """The folder."""
        return f"mailbox ({self.settings.folder})"

    def payload(self, entry: OutboxEntry) -> Mapping[str, object]:
        """Return what identifies the message."""
        return {"id": entry.message.id, "title": entry.message.title, "repeat": entry.maybe_delivered}

    def post(self, payload: Mapping[str, object]) -> Answer:
        """Write the message."""
        folder = Path(self.settings.folder)
        if not folder.is_dir():
            return NotSent("the folder is missing")
        (folder / f"{len(list(folder.iterdir())):03}.json").write_text(json.dumps(payload), "utf-8")
        return HttpResponse(200, {}, b"")

    def interpret(self, answer: Answer) -> ResponseAdvice:
        """Return delivered, or try again."""
        if isinstance(answer, HttpResponse):
            return ResponseAdvice(Receipt(DeliveryOutcome.DELIVERED))
        return ResponseAdvice(Receipt(DeliveryOutcome.TRY_AGAIN, answer.why), "create the folder")


def _settings(section: Section) -> MailboxSettings | None:
    folder = section.text("folder")
    if not folder:
        section.fault("folder", "missing")
        return None
    return MailboxSettings(folder)


def _build(settings: MailboxSettings, _send: Post, _version: str) -> Mailbox:
    return Mailbox(settings)


MAILBOX = ChannelType(ChannelParser(_settings), _build)


def messages_in(folder: Path) -> list[str]:
    """Return the ids of the messages in a mailbox, in order of arrival."""
    return [json.loads(path.read_text("utf-8"))["id"] for path in sorted(folder.iterdir())]
