"""Whose turn it is on a channel that many monitors send to: the oldest message's, nobody's while it is shut.

Every monitor asks before it sends and says afterwards what came of it. A channel that refused everybody is
tried again by one message, not by all; when it opens, the rest follow at a pace that it takes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from jobmon_core.domain.delivery.outbox import DeliveryOutcome, Message, OutboxEntry, Receipt

PACE_S = 2.0  # between messages that wait for each other: Discord takes 30 a minute in a channel
_BACK_WITHIN_S = 90.0  # of its turn; one that is not back by then, with its monitor, holds nobody up
_FARTHEST_S = 2 * 86_400.0  # no wait is longer than a day: what lies further off was written by a wrong clock
_OWN_TROUBLE_S = 3600.0  # how long trouble that may be a message's own keeps the others waiting


@dataclass(frozen=True, slots=True)
class Entry:
    """The place of one message in the lane of its channel."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"created_s": "made_s"}

    created_s: int
    until_s: float  # when it counts no longer, if nothing more is heard of it
    trouble_since_s: float | None = None  # since when it meets what may be meant for it alone

    def holds_up(self, now_s: float) -> bool:
        """Whether younger ones wait for it."""
        alone = self.trouble_since_s is not None and now_s - self.trouble_since_s >= _OWN_TROUBLE_S
        return now_s < self.until_s and not alone


@dataclass(frozen=True, slots=True)
class SendQueue:
    """Who waits for a channel, by the ids of the messages, and until when it is shut (Unix seconds)."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"entries": "places"}

    shut_until_s: float = 0.0
    entries: dict[str, Entry] = field(default_factory=dict)


def request_turn(lane: SendQueue, message: Message, now_s: float) -> tuple[SendQueue, float | None]:
    """Return when to ask again, None where the message may be sent now, and the lane with its place."""
    places = {each: at for each, at in lane.entries.items() if now_s < at.until_s < now_s + _FARTHEST_S}
    shut_until_s = lane.shut_until_s if lane.shut_until_s < now_s + _FARTHEST_S else 0.0
    mine = places.pop(message.id, Entry(message.created_s, 0.0))
    rank = (message.created_s, message.id)
    ahead = sum(1 for each, at in places.items() if at.holds_up(now_s) and (at.created_s, each) < rank)
    turn_s = max(now_s, shut_until_s) + PACE_S * ahead
    places[message.id] = replace(mine, until_s=turn_s + _BACK_WITHIN_S)
    return SendQueue(shut_until_s, places), turn_s if turn_s > now_s else None


def record_result(lane: SendQueue, entry: OutboxEntry, receipt: Receipt, now_s: float) -> SendQueue:
    """Return the lane after an attempt; ``owed`` is what that left to be done."""
    places = dict(lane.entries)
    mine = places.pop(entry.message.id, Entry(entry.message.created_s, 0.0))
    if receipt.outcome is not DeliveryOutcome.TRY_AGAIN:
        return replace(lane, entries=places)  # gone, or with a wait of its own that nobody shares
    since_s = None if receipt.for_all else mine.trouble_since_s or now_s
    mine = replace(mine, until_s=entry.next_try_s + _BACK_WITHIN_S, trouble_since_s=since_s)
    shut_until_s = entry.next_try_s if mine.holds_up(now_s) else lane.shut_until_s
    return SendQueue(shut_until_s, {**places, entry.message.id: mine})
