"""A message that belongs to no single job, with the state of its delivery."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jobmon_core.domain.delivery.outbox import Message, OutboxEntry, with_replacements

KEPT_S = 7 * 86_400.0  # after its delivery: while its record exists, the message is not created again
_GIVEN_UP_KEPT_S = 90 * 86_400.0  # `jobmon status` names it, and `jobmon recover` may send it


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """The message and its outbox: at first one entry without a channel, then one for each channel."""

    id: str
    outbox: tuple[OutboxEntry, ...]

    @classmethod
    def of(cls, message: Message, channel: str = "") -> StoredMessage:
        """Return the record of a new message; with ``channel``, for this channel only."""
        return cls(message.id, (OutboxEntry(message, channel=channel),))

    @property
    def message(self) -> Message:
        """The message itself."""
        return self.outbox[0].message

    @property
    def is_open(self) -> bool:
        """Whether the message is still to be sent to a channel."""
        return any(entry.is_open for entry in self.outbox)

    @property
    def given_up(self) -> str:
        """Why the message is not sent to one of its channels; empty if jobmon gave up none of them."""
        return next((entry.given_up for entry in self.outbox if entry.given_up), "")

    @property
    def problem(self) -> str:
        """Why the latest attempt to send it failed, or why it was given up; empty if all is well."""
        return next((why for entry in self.outbox if (why := entry.given_up or entry.problem)), "")

    @property
    def due_s(self) -> float | None:
        """When the next attempt is due (Unix seconds); None if none is."""
        return min((entry.next_try_s for entry in self.outbox if entry.is_open), default=None)

    def due(self, now_s: float) -> tuple[OutboxEntry, ...]:
        """Return the entries to be sent now."""
        return tuple(entry for entry in self.outbox if entry.is_open and entry.next_try_s <= now_s)

    def with_entries(self, key: tuple[str, str], replacements: tuple[OutboxEntry, ...]) -> StoredMessage:
        """Return the record with the entry ``key`` of its outbox replaced."""
        return replace(self, outbox=with_replacements(self.outbox, key, replacements))

    def is_outdated(self, now_s: float) -> bool:
        """Whether it was delivered, or given up, so long ago that its record can be removed."""
        if self.is_open or now_s - self.message.created_s <= KEPT_S:
            return False
        if self.given_up:
            return now_s - self.message.created_s > _GIVEN_UP_KEPT_S
        sent_s = (entry.delivered_s for entry in self.outbox if not entry.counted)
        return all(now_s - (at_s or now_s) > KEPT_S for at_s in sent_s)
