"""The queue in which the monitors of one host send to one channel: the oldest message goes first.

After an attempt with the result `TRY_AGAIN`, the channel is closed for a while, unless this message alone has
failed for an hour; then one message tries again, and the others follow at a pace that the channel accepts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from jobmon_core.domain.delivery.outbox import DeliveryOutcome, Message, OutboxEntry, Receipt

PACE_S = 2.0  # between two messages: Discord accepts 30 a minute in a channel
_RETURN_WITHIN_S = 90.0  # an entry expires this long after its turn: its monitor may have died
_MAX_WAIT_S = 2 * 86_400.0  # no real wait exceeds a day: a later time was written under a wrong clock
_MAX_BLOCKING_S = 3600.0  # how long failures that may concern one message alone delay the others


@dataclass(frozen=True, slots=True)
class Entry:
    """One message in the queue; times are Unix seconds."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"created_s": "made_s"}

    created_s: int  # when the message was created
    until_s: float  # when the entry expires unless its monitor returns
    trouble_since_s: float | None = None  # since when the message fails for a reason that may be its own

    def blocks(self, now_s: float) -> bool:
        """Return whether younger messages must wait for this one."""
        failing = self.trouble_since_s is not None and now_s - self.trouble_since_s >= _MAX_BLOCKING_S
        return now_s < self.until_s and not failing


@dataclass(frozen=True, slots=True)
class SendQueue:
    """The messages that wait for one channel, by id, and until when (Unix seconds) the channel is closed."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"entries": "places"}

    shut_until_s: float = 0.0
    entries: dict[str, Entry] = field(default_factory=dict)


def request_turn(queue: SendQueue, message: Message, now_s: float) -> tuple[SendQueue, float | None]:
    """Return the queue with the message in it, and when (Unix seconds) to ask again; None to send it now."""
    entries = {
        message_id: entry
        for message_id, entry in queue.entries.items()
        if now_s < entry.until_s < now_s + _MAX_WAIT_S
    }
    shut_until_s = queue.shut_until_s if queue.shut_until_s < now_s + _MAX_WAIT_S else 0.0
    own = entries.pop(message.id, Entry(message.created_s, 0.0))
    rank = (message.created_s, message.id)
    ahead = sum(
        entry.blocks(now_s) and (entry.created_s, message_id) < rank for message_id, entry in entries.items()
    )
    turn_s = max(now_s, shut_until_s) + PACE_S * ahead
    entries[message.id] = replace(own, until_s=turn_s + _RETURN_WITHIN_S)
    return SendQueue(shut_until_s, entries), turn_s if turn_s > now_s else None


def record_result(queue: SendQueue, sent: OutboxEntry, receipt: Receipt, now_s: float) -> SendQueue:
    """Return the queue after an attempt; ``sent`` is the outbox entry to which ``receipt`` was applied."""
    entries = dict(queue.entries)
    own = entries.pop(sent.message.id, Entry(sent.message.created_s, 0.0))
    if receipt.outcome is not DeliveryOutcome.TRY_AGAIN:
        return replace(queue, entries=entries)  # it is done, or its repeat delays no other message
    trouble_since_s = None if receipt.for_all else own.trouble_since_s or now_s
    own = replace(own, until_s=sent.next_try_s + _RETURN_WITHIN_S, trouble_since_s=trouble_since_s)
    shut_until_s = sent.next_try_s if own.blocks(now_s) else queue.shut_until_s
    return SendQueue(shut_until_s, {**entries, sent.message.id: own})
